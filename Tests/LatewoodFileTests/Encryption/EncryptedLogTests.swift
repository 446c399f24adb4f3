import LatewoodBytes
import LatewoodConcurrency
import LatewoodCrypto
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

@Suite struct EncryptedLogTests {
  /// An encrypted file in memory.
  private struct Bench {
    let volume = MemoryVolume()
    let path = "test.latewood"
    let environment: Environment
    let key: EncryptionKey

    init(_ suite: CipherSuite, key byte: UInt8 = 1) throws {
      let random = Guarded(SeededRandom(seed: UInt64(byte)))
      environment = Environment(now: { 1_000_000 }, random: { random.withLock { $0.next() } })
      key = .raw(SecretBytes(count: 32) { $0[0] = byte })
      try DatabaseFile.create(
        on: volume, path: path, environment: environment, encryption: NewEncryption(key, suite: suite))
    }

    func open(readOnly: Bool = false) throws -> (log: DatabaseFile, state: ReplayedState) {
      let log = try DatabaseFile.open(
        on: volume, path: path, readOnly: readOnly, environment: environment, key: key)
      var state = ReplayedState()
      do {
        state.report = try log.recover { (transaction, _, record) throws(StorageError) in
          state.apply(transaction, record)
        }
      } catch {
        log.close()
        throw error
      }
      return (log, state)
    }

    func bytes() throws -> [UInt8] {
      let device = try volume.open(path, .readOnly)
      defer { device.close() }
      var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
      _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
      return bytes
    }

    func patch(_ bytes: [UInt8], at offset: Int) throws {
      let device = try volume.open(path, .readWrite)
      defer { device.close() }
      try bytes.withUnsafeBytes { try device.write($0, at: UInt64(offset)) }
    }
  }

  private func secret(_ number: Int, _ count: Int) -> [UInt8] {
    let text = Array("secret \(number) ".utf8)
    return (0..<count).map { text[$0 % text.count] }
  }

  private func fill(_ log: DatabaseFile) throws -> [String: [UInt8]] {
    var expected: [String: [UInt8]] = [:]
    for round in 0..<4 {
      _ = try log.writer.beginTransaction()
      for (index, count) in [1, 30, 700, 5000, 70_000].enumerated() {
        let (name, value) = ("secret key \(round) \(index)", secret(index, count + round))
        try log.put(name, value, asExtent: count > 512)
        expected[name] = value
      }
      if round == 2 {
        for (name, isExtent) in [("secret large", true), ("secret inline", false)] {
          expected[name] = secret(99, 1 << 20 + 77)
          try log.put(name, secret(99, 1 << 20 + 77), asExtent: isExtent)
        }
      }
      try log.flush(through: try log.writer.commitTransaction(), durable: true)
    }
    return expected
  }

  @Test(arguments: CipherSuite.allCases)
  func `commits are recovered, and their bytes are not in the clear`(_ suite: CipherSuite) throws {
    let bench = try Bench(suite)
    var (log, _) = try bench.open()
    let expected = try fill(log)
    log.close()
    let bytes = try bench.bytes()
    #expect(bytes.firstRange(of: Array("secret".utf8)) == nil)
    var state: ReplayedState
    (log, state) = try bench.open()
    #expect(state.entries == expected)
    #expect(!state.report.needsCheckpoint)
    // Another session continues the log with another epoch.
    try log.commit([("secret more", secret(1, 10))])
    log.close()
    (log, state) = try bench.open(readOnly: true)
    #expect(state.entries.count == expected.count + 1)
    log.close()
  }

  @Test(arguments: CipherSuite.allCases)
  func `a record is read where it was written, from memory and then from the file`(_ suite: CipherSuite)
    throws
  {
    let bench = try Bench(suite)
    let (log, _) = try bench.open()
    defer { log.close() }
    _ = try log.writer.beginTransaction()
    let offset = try log.put("a", secret(1, 2000), asExtent: true)
    let large = try log.put("b", secret(2, 1 << 20), asExtent: true)
    let last = try log.put("c", secret(3, 10))
    func values() throws -> [[UInt8]] {
      try [offset, large, last].map { offset in
        let record = try log.writer.record(at: offset)
        return Array(UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
      }
    }
    let expected = [secret(1, 2000), secret(2, 1 << 20), secret(3, 10)]
    #expect(try values() == expected)
    try log.flush(through: try log.writer.commitTransaction(), durable: true)
    // The next transaction drops the operations in memory.
    _ = try log.writer.beginTransaction()
    #expect(try values() == expected)
    log.writer.abortTransaction()
  }

  @Test(arguments: CipherSuite.allCases)
  func `an extent opens alone, from the file`(_ suite: CipherSuite) throws {
    let bench = try Bench(suite)
    let (log, _) = try bench.open()
    defer { log.close() }
    _ = try log.writer.beginTransaction()
    let record = try log.put("a", secret(1, 3000), asExtent: true)
    let reference = try log.writer.record(at: record).extent(ofRecordAt: record)
    try log.flush(through: try log.writer.commitTransaction(), durable: true)
    let pin = log.view.pin()
    defer { withExtendedLifetime(pin) {} }
    let bytes = try log.view.extent(
      offset: reference.offset, length: reference.length, checksum: reference.checksum)
    #expect(Array(bytes) == secret(1, 3000))
    try log.view.verify(reference) as Void
    var moved = reference
    moved.offset += 64
    let kind = faultKind {
      _ = try log.view.extent(offset: moved.offset, length: moved.length, checksum: moved.checksum)
    }
    #expect(kind == .damaged)
  }

  @Test func `a file is opened only with its key, and a wrong key is told from damage`() throws {
    let bench = try Bench(.aes256)
    func kind(_ key: EncryptionKey?) -> StorageError.Kind? {
      faultKind {
        try DatabaseFile.open(
          on: bench.volume, path: bench.path, readOnly: true, environment: bench.environment, key: key
        ).close()
      }
    }
    #expect(kind(bench.key) == nil)
    #expect(kind(nil) == .keyNeeded)
    #expect(kind(.raw(SecretBytes(count: 32) { $0[0] = 2 })) == .wrongKey)
    #expect(kind(.password(SecretBytes(count: 4) { _ in })) == .wrongKey)
    // One damaged copy of the encrypted key does not matter.
    try bench.patch([1, 2, 3], at: 8192 + KeyWrap.blockOffset + 60)
    #expect(kind(bench.key) == nil)
    try bench.patch([1, 2, 3], at: 12288 + KeyWrap.blockOffset + 60)
    #expect(kind(bench.key) == .damaged)
  }

  @Test func `a key for a file that is not encrypted is refused`() throws {
    let bench = try LogBench()
    let kind = faultKind {
      try DatabaseFile.open(
        on: bench.volume, path: bench.path, readOnly: true, environment: bench.environment,
        key: .raw(SecretBytes(count: 32) { _ in })
      ).close()
    }
    #expect(kind == .notEncrypted)
  }

  /// Every unit of the log and every slot has a checksum, so a bit that rots is found without the
  /// key. Somebody who changes a unit on purpose can repair the checksum, but not the tag.
  @Test(arguments: CipherSuite.allCases)
  func `a frame whose checksum was repaired is refused`(_ suite: CipherSuite) throws {
    let bench = try Bench(suite)
    let (log, _) = try bench.open()
    let position = try log.commit([("a", secret(1, 100))])
    log.close()
    var bytes = try bench.bytes()
    let start = Int(FileLayout.logStart)
    let codec = log.header.codec
    for changed in [start + 24, start + 70, Int(position.offset) - 20] {
      let before = bytes[changed]
      bytes[changed] ^= 2
      let frame = bytes.withUnsafeMutableBytes { bytes -> [UInt8] in
        guard let base = bytes.baseAddress else { return [] }
        let header = FrameHeader.decode(
          from: UnsafeRawPointer(base + start), at: FileLayout.logStart, trailerLength: codec.trailerLength)
        guard let header else { return [] }
        _ = codec.seal(.frame, at: FileLayout.logStart, base + start, header.layout.length)
        return Array(UnsafeRawBufferPointer(start: base + start, count: header.layout.length))
      }
      try bench.patch(frame, at: start)
      #expect(faultKind { _ = try bench.open() } == .damaged)
      bytes[changed] = before
    }
  }

  /// The seal at the end of a backup has no tag, so everybody can write one.
  @Test(arguments: CipherSuite.allCases)
  func `a forged seal does not exhaust the numbers of transactions`(_ suite: CipherSuite) throws {
    let bench = try Bench(suite)
    var (log, state) = try bench.open()
    let codec = log.header.codec
    try log.commit([("a", secret(1, 100))])
    log.close()
    let bytes = try bench.bytes()
    let seal = try bytes.withUnsafeBytes { bytes -> (offset: UInt64, bytes: [UInt8]) in
      let base = try #require(bytes.baseAddress)
      var (at, checksum) = (FileLayout.logStart, UInt64(0))
      while Int(at) + FrameHeader.length <= bytes.count,
        let header = FrameHeader.decode(from: base + Int(at), at: at, trailerLength: codec.trailerLength)
      {
        (at, checksum) = (try #require(header.next), header.checksum)
      }
      var seal = FrameHeader(
        kind: .seal, ownOffset: at, transaction: .max, previousChecksum: checksum,
        durableThrough: FileLayout.logStart, payloadLength: 0)
      seal.endsLog = true
      var forged = [UInt8](repeating: 0, count: FrameHeader.length)
      forged.withUnsafeMutableBytes { forged in
        if let base = forged.baseAddress { _ = seal.encode(into: base, codec: UnitCodec(seed: codec.seed)) }
      }
      return (at, forged)
    }
    try bench.patch(seal.bytes, at: Int(seal.offset))
    (log, state) = try bench.open()
    #expect(state.entries.count == 1)
    #expect(state.report.lastTransaction == 1)
    log.close()
  }

  @Test func `a copy of the key that this program does not know does not hide the other one`() throws {
    let bench = try Bench(.chaCha20)
    let (log, _) = try bench.open()
    log.close()
    let codec = UnitCodec(seed: log.header.codec.seed)
    func kind(_ key: EncryptionKey) -> StorageError.Kind? {
      faultKind {
        try DatabaseFile.open(
          on: bench.volume, path: bench.path, readOnly: true, environment: bench.environment, key: key
        ).close()
      }
    }
    for index in 0..<2 {
      let start = Int(FileLayout.slotOffset(index)) + KeyWrap.blockOffset
      var wrap = Array(try bench.bytes()[start..<start + KeyWrap.length])
      wrap[KeyWrap.Offset.derivation] = 3
      wrap.withUnsafeMutableBytes { wrap in
        if let base = wrap.baseAddress { _ = codec.seal(.key, at: 0, base, KeyWrap.length) }
      }
      try bench.patch(wrap, at: start)
      #expect(kind(bench.key) == (index == 0 ? nil : .unsupported))
    }
  }
}
