import LatewoodBytes
import Testing

@testable import LatewoodFile

/// Damaged files open with the acknowledged state, or fail with an error.
@Suite struct LogDamageTests {
  let bench: LogBench
  let sound: [UInt8]
  let ends: [UInt64]
  let newest: ReplayedState

  init() throws {
    bench = try LogBench()
    let log = try bench.open().log
    var ends: [UInt64] = []
    for number in 1...10 {
      if number == 4 { try log.emptyCheckpoint(replay: .start) }
      ends.append(
        try log.commit([("key\(number)", [UInt8](repeating: UInt8(number), count: number * 3))]).offset)
    }
    try log.writer.appendSeal()
    try log.flush(through: log.writer.position, durable: true)
    let end = Int(log.writer.tail)
    log.close()
    self.ends = ends
    // Without the zeros that were written ahead.
    sound = Array(try bench.bytes()[..<end])
    try bench.install(sound)
    newest = try bench.read()
  }

  /// Opens the file, and returns its state, or nil if opening fails with a fault.
  private func open() throws -> ReplayedState? {
    do {
      return try bench.read()
    } catch is StorageError {
      return nil
    }
  }

  @Test func `no flipped bit brings back an older state`() throws {
    #expect(newest.entries.count == 10)
    var errors = 0
    for byte in 8192..<sound.count where !(8256..<12288).contains(byte) && !(12352..<16384).contains(byte) {
      for bit in 0..<8 {
        try bench.patch([sound[byte] ^ (1 << UInt8(bit))], at: byte)
        if let state = try open() {
          if state != newest { Issue.record("bit \(bit) of byte \(byte) changes the state") }
        } else {
          errors += 1
        }
      }
      try bench.patch([sound[byte]], at: byte)
    }
    #expect(errors > 1000)
    for byte in stride(from: 0, to: 8192, by: 97) {
      try bench.patch([sound[byte] ^ 0x10], at: byte)
      #expect(try open() == newest)
      try bench.patch([sound[byte]], at: byte)
    }
  }

  @Test func `a file truncated anywhere opens with the frames that are left, or fails`() throws {
    for length in (16384..<sound.count).reversed() {
      try bench.install(Array(sound[..<length]))
      if let state = try open() {
        // A frame is complete even if only the zeros after it are missing.
        let least = ends.filter { $0 <= UInt64(length) }.count
        let most = ends.filter { $0 <= UInt64((length + 7) & ~7) }.count
        #expect((least...most).contains(state.entries.count))
      }
    }
    for (length, kind) in [(16383, .damaged), (8192, .damaged), (3, .notADatabase), (0, .emptyFile)]
      as [(Int, StorageError.Kind)]
    {
      try bench.install(Array(sound[..<length]))
      #expect(faultKind { _ = try bench.read() } == kind)
    }
  }

  @Test func `a frame of another file is not accepted`() throws {
    // The same bytes under another file id: every checksum starts from another seed.
    var bytes = sound
    let header = FileHeader(fileID: (1, 2), databaseID: DatabaseID(first: 4, last: 5), created: 3)
    bytes.withUnsafeMutableBytes { all in
      for copy in [0, 4096] {
        header.encode(into: UnsafeMutableRawBufferPointer(rebasing: all[copy..<copy + 4096]))
      }
      for place in 0..<2 {
        let at = Int(FileLayout.slotOffset(place))
        RootSlot(generation: UInt64(place), time: 0)
          .encode(into: UnsafeMutableRawBufferPointer(rebasing: all[at..<at + 4096]), codec: header.codec)
      }
    }
    try bench.install(bytes)
    let state = try bench.read()
    #expect(state.entries.isEmpty)
    #expect(state.report.tornTail == 16384..<UInt64(bytes.count))
  }

  @Test func `a number without a successor is refused instead of overflowing`() throws {
    let header = try sound.withUnsafeBytes { try FileHeader.decode(from: $0) }
    var bytes = sound
    bytes.withUnsafeMutableBytes { all in
      let at = Int(FileLayout.slotOffset(1))
      RootSlot(generation: .max, time: 0)
        .encode(into: UnsafeMutableRawBufferPointer(rebasing: all[at..<at + 4096]), codec: header.codec)
    }
    try bench.install(bytes)
    let log = try bench.open().log
    #expect(faultKind { try log.emptyCheckpoint() } == .fileTooLarge)
    log.writer.continueTransactions(after: .max)
    #expect(faultKind { _ = try log.writer.beginTransaction() } == .fileTooLarge)
    log.close()
  }

  @Test func `a foreign header and a damaged one are told apart`() throws {
    try bench.install([UInt8](repeating: 0x20, count: 20000))
    #expect(faultKind { _ = try bench.read() } == .notADatabase)
    var bytes = sound
    bytes[40] ^= 1
    bytes[4096 + 40] ^= 1
    try bench.install(bytes)
    #expect(faultKind { _ = try bench.read() } == .damaged)
    #expect(
      faultKind {
        _ = try DatabaseFile.create(on: bench.volume, path: bench.path, environment: bench.environment)
      }
        == .alreadyExists)
    try bench.volume.memory.remove(bench.path)
    #expect(faultKind { _ = try bench.read() } == .notFound)
  }

  @Test func `a file larger than the format allows is refused before it is mapped`() throws {
    let log = try DatabaseFile.open(
      on: bench.volume, path: bench.path, readOnly: true, environment: bench.environment)
    for (size, words) in [
      (FileLayout.fileLimit, "16 TiB"), (FileLayout.fileLimit + 1, "larger than the format allows"),
    ] {
      bench.volume.plan.withLock { $0.size = size }
      let fault = #expect(throws: StorageError.self) {
        _ = try log.recover { (_, _, _) throws(StorageError) in }
      }
      #expect(fault?.kind == .fileTooLarge && fault?.reason.contains(words) == true, "\(size)")
    }
    bench.volume.plan.withLock { $0.size = nil }
    log.close()
  }

  /// The slot reached the disk before its checkpoint did, and then the power was cut.
  @Test func `a slot whose checkpoint a power cut lost is not damage once frames replace it`() throws {
    let log = try bench.open().log
    let place = log.writer.tail
    for key in ["a", "b", "c"] { try log.commit([(key, [1])]) }
    var slot = RootSlot(generation: log.slots.generation + 1, time: 0)
    slot.checkpointOffset = place
    slot.checkpointChecksum = 1
    var block = [UInt8](repeating: 0, count: FileLayout.slotBlockLength)
    block.withUnsafeMutableBytes { slot.encode(into: $0, codec: log.header.codec) }
    try bench.patch(block, at: Int(FileLayout.slotOffset(slot.index)))
    #expect(try log.verify(through: log.writer.tail).faults == [])
    log.close()
    let found = try bench.read()
    #expect(found.report.usedOlderSlot && found.entries.count == newest.entries.count + 3)
  }
}
