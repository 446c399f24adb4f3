import LatewoodBytes
import LatewoodConcurrency
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// Logs that writers never produce, with valid checksums.
@Suite struct HandmadeLogTests {
  private let environment = Environment(now: { 0 }, random: { 7 })

  /// An empty file to append frames to.
  private func surgery() throws -> FileSurgery {
    let volume = SimulatedVolume()
    try DatabaseFile.create(on: volume, path: "file", environment: environment)
    return try FileSurgery(volume.liveBytes(of: "file"))
  }

  /// The report of a reader that recovers the file.
  private func recovered(_ surgery: FileSurgery) throws -> LogRecoveryReport {
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "file")
    let log = try DatabaseFile.open(on: volume, path: "file", readOnly: true, environment: environment)
    defer { log.close() }
    return try log.recover { (_, _, _) throws(StorageError) in }
  }

  @Test func `a commit with a lower number than its predecessor ends the log`() throws {
    var surgery = try surgery()
    surgery.append(.commit, transaction: 5, EncodedOperation.put(1, "a", "first"))
    let end = UInt64(surgery.bytes.count)
    surgery.append(.commit, transaction: 4, EncodedOperation.put(1, "b", "second"))
    let report = try recovered(surgery)
    #expect(report.transactionsReplayed == 1 && report.lastTransaction == 5)
    #expect(report.tornTail == end..<UInt64(surgery.bytes.count))
  }

  @Test func `nothing is read after the seal that ends a log`() throws {
    var surgery = try surgery()
    surgery.append(.commit, transaction: 1, EncodedOperation.put(1, "a", "first"))
    surgery.append(.seal, transaction: 1, endsLog: true)
    surgery.append(.commit, transaction: 2, EncodedOperation.put(1, "b", "second"))
    let report = try recovered(surgery)
    #expect(report.transactionsReplayed == 1 && report.lastTransaction == 1)
  }

  /// Hashing each of them would take time proportional to the square of the file's length.
  @Test func `very many overlapping claims of lost commits are damage, found in linear time`() throws {
    var surgery = try surgery()
    surgery.append(.commit, transaction: 1, EncodedOperation.put(1, "a", "first"))
    let start = surgery.bytes.count
    let length = 64 << 10
    surgery.append([UInt8](repeating: 0, count: length))
    surgery.withBytes { all, base in
      for at in stride(from: start, to: start + length - 64, by: 64) {
        let header = FrameHeader(
          kind: .commit, ownOffset: UInt64(at), transaction: 9, previousChecksum: 1,
          durableThrough: UInt64(start) + 8, payloadLength: UInt64(start + length - at - FrameHeader.length))
        header.encodeFields(into: base + at)
      }
    }
    do {
      _ = try recovered(surgery)
      Issue.record("it was opened")
    } catch let fault as StorageError {
      #expect(fault.kind == .damaged && fault.offset == UInt64(start))
    }
  }

  @Test func `a value in the header, in a slot or past the end is refused, despite its checksum`() throws {
    let surgery = try surgery()
    let codec = surgery.codec
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes + [UInt8](repeating: 3, count: 200), at: "file")
    let log = try DatabaseFile.open(on: volume, path: "file", readOnly: true, environment: environment)
    defer { log.close() }
    _ = try log.recover { (_, _, _) throws(StorageError) in }
    let bytes = try volume.liveBytes(of: "file")
    func extent(at offset: Int, _ length: Int = 100) throws {
      let content = (bytes + [UInt8](repeating: 0, count: 8192))[offset..<offset + length]
      let sum = content.withUnsafeBytes { XXH64.hash($0, seed: codec.seed) }
      _ = try log.view.extent(
        offset: UInt64(offset), length: UInt64(length), checksum: UInt32(truncatingIfNeeded: sum))
    }
    for offset in [0, 4096, 8192, 16383] { #expect(throws: StorageError.self) { try extent(at: offset) } }
    for offset in [16384, bytes.count - 100] { try extent(at: offset) }
    for offset in [bytes.count - 99, bytes.count, bytes.count + 4096] {
      #expect(throws: StorageError.self) { try extent(at: offset) }
    }
    #expect(throws: StorageError.self) { try extent(at: bytes.count - 64, 65) }
  }

  @Test func `a slot cannot lead to a checkpoint other than its own`() throws {
    let volume = SimulatedVolume()
    try DatabaseFile.create(on: volume, path: "file", environment: environment)
    let log = try DatabaseFile.open(on: volume, path: "file", readOnly: false, environment: environment)
    _ = try log.recover { (_, _, _) throws(StorageError) in }
    for _ in 0..<2 {
      let checkpoint = try log.writer.appendCheckpoint(
        CheckpointRecord(
          root: nil, replay: log.writer.replayPosition, transaction: 0, time: 0, previousCheckpoint: 0))
      try log.writeSlot(naming: checkpoint)
    }
    log.close()
    var surgery = try FileSurgery(volume.liveBytes(of: "file"))
    #expect(try recovered(surgery).checkpoint != nil)
    let codec = surgery.codec
    try surgery.withBytes { all, _ in
      for place in 0..<2 {
        let start = Int(FileLayout.slotOffset(place))
        let block = UnsafeMutableRawBufferPointer(rebasing: all[start..<start + FileLayout.slotBlockLength])
        var slot = try RootSlot.decode(from: UnsafeRawBufferPointer(block), index: place, codec: codec)
        slot.checkpointChecksum ^= 1
        slot.encode(into: block, codec: codec)
      }
    }
    do {
      _ = try recovered(surgery)
      Issue.record("it was opened")
    } catch let fault as StorageError {
      #expect(fault.kind == .damaged)
    }
  }

  /// Frames behind a gap claim that bytes beyond it were durable, so they may reach the disk only
  /// after the slot that leads over the gap.
  @Test func `frames after a torn tail reach the disk only once the new slot is durable`() throws {
    var surgery = try surgery()
    surgery.append(.commit, transaction: 1, EncodedOperation.put(1, "a", "first"))
    surgery.append([UInt8](repeating: 7, count: 100))
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "file")
    let log = try DatabaseFile.open(on: volume, path: "file", readOnly: false, environment: environment)
    _ = try log.recover { (_, _, _) throws(StorageError) in }
    let checkpoint = try log.writer.appendCheckpoint(
      CheckpointRecord(
        root: nil, replay: log.writer.replayPosition, transaction: 1, time: 0, previousCheckpoint: 0))
    try log.writeSlot(naming: checkpoint)
    for number in 0..<2 {
      _ = try log.writer.beginTransaction()
      let key: [UInt8] = [0, 0, 0, 1, UInt8(number)]
      _ = try key.withStart { (start, count) throws(StorageError) in
        try log.writer.put(
          .full(UnsafeRawBufferPointer(start: start, count: count)), .init(start: nil, count: 0),
          asExtent: false)
      }
      try log.flush(through: log.writer.commitTransaction(), durable: false)
    }
    var images = 0
    for image in volume.crashImages() {
      let disk = try image.makeVolume()
      let again = try DatabaseFile.open(on: disk, path: "file", readOnly: false, environment: environment)
      #expect(throws: Never.self, "\(image)") { _ = try again.recover { (_, _, _) throws(StorageError) in } }
      again.close()
      images += 1
    }
    #expect(images > 3)
    log.close()
  }
}
