import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// Logs that no writer makes, whose checksums are all right.
@Suite struct HandmadeLogTests {
  private let environment = Environment(now: { 0 }, random: { 7 })

  /// An empty file to append frames to.
  private func surgery() throws -> FileSurgery {
    let volume = SimulatedVolume()
    try LogFile.create(on: volume, path: "file", environment: environment)
    return try FileSurgery(volume.liveBytes(of: "file"))
  }

  /// What a reader makes of it.
  private func recovered(_ surgery: FileSurgery) throws -> LatewoodFile.RecoveryReport {
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "file")
    let log = try LogFile.open(on: volume, path: "file", readOnly: true, environment: environment)
    defer { log.close() }
    return try log.recover { (_, _, _) throws(Fault) in }
  }

  @Test func `a commit with a lower number than the one before it ends the log`() throws {
    var surgery = try surgery()
    surgery.append(.commit, transaction: 5, EncodedOperation.put(1, "a", "first"))
    let end = UInt64(surgery.bytes.count)
    surgery.append(.commit, transaction: 4, EncodedOperation.put(1, "b", "second"))
    let report = try recovered(surgery)
    #expect(report.transactionsReplayed == 1 && report.lastTransaction == 5)
    #expect(report.tornTail == end..<UInt64(surgery.bytes.count))
  }

  @Test func `behind the seal that ends a log nothing is read, however well it follows`() throws {
    var surgery = try surgery()
    surgery.append(.commit, transaction: 1, EncodedOperation.put(1, "a", "first"))
    surgery.append(.seal, transaction: 1, endsLog: true)
    surgery.append(.commit, transaction: 2, EncodedOperation.put(1, "b", "second"))
    let report = try recovered(surgery)
    #expect(report.transactionsReplayed == 1 && report.lastTransaction == 1)
  }

  /// To hash each of them would take the square of the file's length.
  @Test func `very many claims to be lost commits, each as long as the rest of the file, are damage`() throws
  {
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
    } catch let fault as Fault {
      #expect(fault.kind == .damaged && fault.offset == UInt64(start))
    }
  }

  @Test func `a value does not lie in the header or the slots, whatever its checksum`() throws {
    let surgery = try surgery()
    let seed = surgery.seed
    let volume = SimulatedVolume()
    try volume.place(surgery.bytes, at: "file")
    let log = try LogFile.open(on: volume, path: "file", readOnly: true, environment: environment)
    defer { log.close() }
    _ = try log.recover { (_, _, _) throws(Fault) in }
    for offset in [0, 4096, 8192, 16320] {
      let sum = surgery.bytes[offset...].prefix(64).withUnsafeBytes { XXH64.hash($0, seed: seed) }
      #expect(throws: Fault.self) {
        _ = try log.view.extent(
          offset: UInt64(offset), length: UInt64(min(64, surgery.bytes.count - offset)),
          checksum: UInt32(truncatingIfNeeded: sum))
      }
    }
  }
}
