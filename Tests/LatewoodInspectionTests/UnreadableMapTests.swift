import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodInspection

/// Maps of files on a disk with blocks that it cannot read.
@Suite struct UnreadableMapTests {
  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  private static func volume(failing block: Range<Int64>) -> FileVolume {
    var calls = FileCalls.system
    calls.read = { descriptor, target, offset throws(ErrorNumber) in
      if block.overlaps(offset..<offset + Int64(target.count)) { throw ErrorNumber.inputOutput }
      return try FileCalls.system.read(descriptor, target, offset)
    }
    return FileVolume(calls: calls)
  }

  @Test(arguments: ["high-tree", "checkpointed", "annotated", "torn-tail"])
  func `a block that cannot be read is drawn, and everything else too`(name: String) throws {
    let bytes = try GoldenFiles.bytes(name)
    let path = directory("file")
    let device = try FileVolume().open(path, .createExclusive(permissions: 0o600))
    try bytes.withUnsafeBytes { try device.write($0, at: 0) }
    device.close()
    let sound = try FileMap(InspectedFile(path: path))
    #expect(sound.totals[.unreadable] == nil)
    var (drawn, failed) = (0, 0)
    for start in stride(from: 8192 as Int64, to: Int64(bytes.count), by: 4096) {
      let block = start..<min(start + 4096, Int64(bytes.count))
      let volume = Self.volume(failing: block)
      let file = try InspectedFile(path: path, on: volume, badBlocks: .readAsZeros)
      let map = try FileMap(file)
      var at: UInt64 = 0
      for region in map.regions {
        #expect(region.range.lowerBound == at && !region.range.isEmpty, "\(name) \(start)")
        at = region.range.upperBound
      }
      #expect(at == UInt64(bytes.count))
      let unreadable = map.regions.filter { $0.kind == .unreadable }
      let expected = UInt64(block.lowerBound)..<UInt64(block.upperBound)
      #expect(
        unreadable.allSatisfy {
          expected.contains($0.range.lowerBound) && $0.range.upperBound <= expected.upperBound
        })
      #expect(
        unreadable.isEmpty
          != map.faults.contains { $0.kind == .inputOutput && $0.offset == expected.lowerBound })
      if !unreadable.isEmpty {
        drawn += 1
        #expect(map.totals[.unreadable] == UInt64(block.count))
        // Without that, the whole map fails, unless the block was only read ahead.
        do { _ = try FileMap(InspectedFile(path: path, on: volume)) } catch { failed += 1 }
      }
    }
    #expect(drawn > 0 && failed > 0)
  }
}
