import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import Testing

@testable import LatewoodInspection

/// The estimate of shares of keyspaces, beside the walk through the whole tree.
@Suite struct TreeEstimateTests {
  @Test(arguments: GoldenFiles.names) func `it is as the tree is, up to the branches`(name: String) throws {
    let file: InspectedFile
    do { file = try InspectedFile(path: GoldenFiles.path(name)) } catch { return }
    let root = file.checkpoint?.record.root
    let tree = try LiveTree(root, file.units)
    let estimate = TreeEstimate(root, file.units)
    guard tree.faults.isEmpty else { return }
    let branches = tree.nodes.filter { $0.level > 0 }.reduce(0 as UInt64) { $0 + UInt64($1.length) }
    for number in Set(tree.keyspaces.keys).union(estimate.bytes.keys) {
      let (found, whole) = (estimate.bytes[number] ?? 0, tree.keyspaces[number]?.bytes ?? 0)
      #expect(found >= whole && found <= whole + branches, "\(name) \(number): \(found) of \(whole)")
    }
    let shape = TreeShape(tree)
    #expect(estimate.fillPercent == shape.levels.last?.fill(of: shape.nodeSize) ?? 0, "\(name)")
  }

  @Test func `a longer tail than is searched is told`() throws {
    for name in ["checkpointed", "high-tree"] {
      let bytes = try GoldenFiles.bytes(name)
      let sound = try InspectedFile(path: GoldenFiles.path(name))
      let end = Int(sound.log.end.offset)
      for tail in [200_000, 400_000] {
        let device = DamagedFile(Array(bytes[..<end]) + [UInt8](repeating: 0, count: tail))
        let reader = try FileReader(device, searchLimit: 300_000)
        let header = try InspectedHeader(reader)
        let frames = UnitReader(reader: reader, codec: header.codec)
        let slots = try (0..<2).map { try InspectedSlot(index: $0, frames) }
        let log = try InspectedLog(frames, from: sound.checkpoint, slots: slots)
        #expect(log.end.offset == UInt64(end) && log.fault == nil)
        let rest = UInt64(end + 300_000)..<UInt64(end + 400_000)
        #expect(log.unsearched == (tail > 300_000 ? rest : nil))
        #expect(log.tail == (tail > 300_000 ? .skipped : .reserved))
      }
    }
  }
}
