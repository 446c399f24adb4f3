import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

@Suite struct CodecTests {
  private func header(_ change: (inout [UInt8]) -> Void = { _ in }) throws -> FileHeader {
    var bytes = [UInt8](repeating: 0, count: 4096)
    bytes.withUnsafeMutableBytes {
      FileHeader(fileID: (7, 8), databaseID: DatabaseID(first: 5, last: 6), created: 9).encode(into: $0)
    }
    change(&bytes)
    bytes.withUnsafeMutableBytes { all in
      guard let base = all.baseAddress else { return }
      base.set(XXH64.hash(UnsafeRawPointer(base), 4088, seed: 0), at: 4088)
    }
    return try (bytes + [UInt8](repeating: 0, count: 4096)).withUnsafeBytes {
      try FileHeader.decode(from: $0)
    }
  }

  @Test func `the header round-trips, and unknown versions and features are refused`() throws {
    let sound = try header()
    #expect(sound == FileHeader(fileID: (7, 8), databaseID: DatabaseID(first: 5, last: 6), created: 9))
    #expect(
      sound.codec.seed
        == XXH64.hash(UnsafeRawBufferPointer.of([7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]), seed: 0))
    #expect(faultKind { _ = try header { $0[8] = 2 } } == .tooNew)
    #expect(faultKind { _ = try header { $0[8] = 0 } } == .damaged)
    #expect(faultKind { _ = try header { $0[15] = 0x80 } } == .tooNew)
    #expect(try header { $0[40] = 0xFF }.optionalFeatures == 0xFF)
    #expect(faultKind { _ = try header { $0[0] = 0 } } == .notADatabase)
  }

  @Test func `a root slot is valid only in its own position`() throws {
    var slot = RootSlot(generation: 6, time: 5)
    slot.checkpointOffset = 20000
    slot.checkpointChecksum = 77
    var bytes = [UInt8](repeating: 1, count: 4096)
    bytes.withUnsafeMutableBytes { slot.encode(into: $0, codec: UnitCodec(seed: 3)) }
    func decode(_ place: Int, _ seed: UInt64) throws -> RootSlot {
      try bytes.withUnsafeBytes { try RootSlot.decode(from: $0, index: place, codec: UnitCodec(seed: seed)) }
    }
    #expect(try decode(0, 3) == slot)
    #expect(faultKind { _ = try decode(1, 3) } == .damaged)
    #expect(faultKind { _ = try decode(0, 4) } == .damaged)
    slot.oldestWhole = 20000
    bytes.withUnsafeMutableBytes { slot.encode(into: $0, codec: UnitCodec(seed: 3)) }
    #expect(try decode(0, 3) == slot)
    slot.oldestWhole = 20008
    bytes.withUnsafeMutableBytes { slot.encode(into: $0, codec: UnitCodec(seed: 3)) }
    #expect(faultKind { _ = try decode(0, 3) } == .damaged)
    slot.oldestWhole = 0
    slot.checkpointOffset = 0
    bytes.withUnsafeMutableBytes { slot.encode(into: $0, codec: UnitCodec(seed: 3)) }
    #expect(faultKind { _ = try decode(0, 3) } == .damaged)
  }

  @Test func `a frame header must match its kind`() {
    func decode(
      _ kind: FrameKind, payload: UInt64, transaction: UInt64 = 1,
      _ change: (UnsafeMutableRawPointer) -> Void = { _ in }
    )
      -> FrameHeader?
    {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 56, alignment: 8)
      defer { memory.deallocate() }
      memory.set(UInt64(0), at: 0)
      FrameHeader(
        kind: kind, ownOffset: 16384, transaction: transaction, previousChecksum: 0, durableThrough: 0,
        payloadLength: payload
      ).encodeFields(into: memory)
      change(memory)
      return FrameHeader.decode(from: memory, at: 16384)
    }
    #expect(decode(.commit, payload: 10) != nil)
    #expect(decode(.commit, payload: 10) { $0.set(UInt8(1), at: 13) }?.continues == true)
    #expect(decode(.commit, payload: 10) { $0.set(UInt8(2), at: 13) } == nil)
    #expect(decode(.nodes, payload: 10) { $0.set(UInt8(1), at: 13) } == nil)
    #expect(decode(.commit, payload: 10) { $0.set(UInt8(5), at: 12) } == nil)
    #expect(decode(.commit, payload: 10) { $0.set(UInt8(0), at: 12) } == nil)
    #expect(decode(.commit, payload: 10) { $0.set(UInt16(1), at: 14) } == nil)
    #expect(decode(.commit, payload: 10) { $0.set(UInt64(16392), at: 16) } == nil)
    #expect(decode(.commit, payload: 10, transaction: 0) == nil)
    #expect(decode(.commit, payload: .max) == nil)
    #expect(decode(.nodes, payload: FileLayout.fileLimit) == nil)
    #expect(decode(.checkpoint, payload: 88) != nil)
    #expect(decode(.checkpoint, payload: 96) == nil)
    #expect(decode(.seal, payload: 0) != nil)
    #expect(decode(.seal, payload: 8) == nil)
  }

  @Test func `a checkpoint must lie within the file`() throws {
    let root = Subtree(
      reference: NodeReference(offset: 16448, length: 100, checksum: 5), level: 2, entries: 3, liveBytes: 4)
    let record = CheckpointRecord(
      root: root, replay: ReplayPosition(offset: 16392, previousChecksum: 6), transaction: 7, time: 8,
      previousCheckpoint: 9)
    func decode(_ record: CheckpointRecord, flip: Int? = nil) throws -> CheckpointRecord {
      let memory = UnsafeMutableRawPointer.allocate(byteCount: 88, alignment: 8)
      defer { memory.deallocate() }
      record.encode(into: memory)
      if let flip { memory.set(UInt8(1), at: flip) }
      return try CheckpointRecord.decode(from: memory, frame: 20000, fileSize: 20200)
    }
    #expect(try decode(record) == record)
    for change: (inout CheckpointRecord) -> Void in [
      { $0.replay.offset = 16388 }, { $0.replay.offset = 16376 }, { $0.replay.offset = 20208 },
      { $0.root?.reference.offset = 16440 }, { $0.root?.reference.offset = 19968 },
      { $0.root?.reference.offset = .max - 63 }, { $0.root?.reference.length = 0 },
      { $0.root?.reference.length = 65536 },
    ] {
      var wrong = record
      change(&wrong)
      #expect(faultKind { _ = try decode(wrong) } == .damaged)
    }
    for reserved in [34, 39] {
      #expect(faultKind { _ = try decode(record, flip: reserved) } == .damaged)
    }
    var empty = record
    empty.root = nil
    #expect(try decode(empty) == empty)
    #expect(faultKind { _ = try decode(empty, flip: 8) } == .damaged)
    #expect(faultKind { _ = try decode(empty, flip: 16) } == .damaged)
  }

  /// The length of the record at the start of `bytes`; nil if there is not one.
  private func record(_ bytes: [UInt8]) -> Int? {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 1)
    defer { memory.deallocate() }
    memory.copyBytes(from: bytes)
    guard let base = memory.baseAddress else { return nil }
    return LogRecord.validated(at: UnsafeRawPointer(base), end: UnsafeRawPointer(base) + bytes.count)?.length
  }

  @Test func `untrusted operations are checked byte by byte`() {
    let put: [UInt8] = [1, 5, 2, 0, 0, 0, 1, 0x61, 8, 9]
    let extent: [UInt8] = [2, 5, 1, 1, 2, 3, 4, 0, 0, 0, 1, 0x61, 8]
    let delete: [UInt8] = [3, 5, 0, 0, 0, 1, 0x61]
    let range: [UInt8] = [4, 0, 4, 0, 0, 0, 1]
    for sound in [put, extent, delete, range] {
      #expect(record(sound) == sound.count)
      #expect(record(sound + [0xFF]) == sound.count)
      for length in 0..<sound.count { #expect(record(Array(sound[..<length])) == nil) }
    }
    #expect(record([0, 5, 0, 0, 0, 1, 0x61]) == nil)
    #expect(record([5, 5, 0, 0, 0, 1, 0x61]) == nil)
    #expect(record([5, 5, 0, 0, 0, 0, 1, 0x61]) == nil)
    #expect(record([3, 4, 0, 0, 0, 1]) == nil)
    #expect(record([3, 0x85, 0x00, 0, 0, 0, 1, 0x61]) == nil)
    let huge = [UInt8](repeating: 0xFF, count: 9) + [1]
    #expect(record([1] + huge + huge + [0, 0, 0, 1, 0x61]) == nil)
    #expect(record([1, 5] + huge + [0, 0, 0, 1, 0x61]) == nil)
    #expect(record([4] + huge + huge) == nil)
  }
}

extension UnsafeRawBufferPointer {
  /// A copy of bytes that is never freed.
  static func of(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 8)
    memory.copyBytes(from: bytes)
    return UnsafeRawBufferPointer(memory)
  }
}
