import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The readable part of a branch with a wrong checksum: the references to children that prove to be
/// valid.
struct DamagedBranch {
  /// A run of unknown children, by their indexes in the branch; nil for the end of the branch if
  /// its count is unknown.
  struct Run {
    var lowerBound: Int
    var upperBound: Int?
  }

  private(set) var children: [(index: Int, subtree: Subtree)] = []
  /// The number of children, if the branch's own header is credible.
  private var count: Int?

  init(_ subtree: Subtree, in file: UnitReader) throws(StorageError) {
    let reference = subtree.reference
    guard subtree.level > 0 else { return }
    guard Int(reference.length) <= FileLayout.nodeLimit else { return }
    let bytes = try file.unprovenBytes(of: reference)
    if bytes.count >= NodeLayout.arrays {
      count = bytes.withUnsafeBytes { Self.count($0, subtree) }
    }
    let room = (bytes.count - NodeLayout.arrays) / NodeLayout.childLength
    guard room > 0 else { return }
    for index in 0..<min(room, count ?? room) {
      let child = bytes.withUnsafeBytes { bytes -> Subtree? in
        // SAFETY: `room` children lie within the bytes.
        guard let base = bytes.baseAddress else { return nil }
        let fields = base + (NodeLayout.arrays + index * NodeLayout.childLength)
        return Subtree(
          reference: NodeReference(
            offset: fields.u64(NodeLayout.childOffset), length: fields.u32(NodeLayout.childReferenceLength),
            checksum: fields.u32(NodeLayout.childChecksum)),
          level: subtree.level - 1, entries: fields.u64(NodeLayout.childEntries),
          liveBytes: fields.u64(NodeLayout.childLiveBytes))
      }
      guard let child, try file.soundNode(child.reference, level: child.level) != nil else { continue }
      children.append((index, child))
    }
  }

  private static func count(_ bytes: UnsafeRawBufferPointer, _ subtree: Subtree) -> Int? {
    guard let base = bytes.baseAddress else { return nil }
    let count = Int(base.u16(NodeLayout.count))
    guard base.u8(NodeLayout.kind) == NodeLayout.branchKind, base.u8(NodeLayout.level) == subtree.level,
      base.u64(NodeLayout.ownOffset) == subtree.reference.offset,
      base.u32(NodeLayout.length) == subtree.reference.length, count > 0,
      NodeLayout.arrays + count * NodeLayout.childLength <= Int(subtree.reference.length)
    else { return nil }
    return count
  }

  func child(_ index: Int) -> Subtree? { children.first { $0.index == index }?.subtree }

  /// The runs of missing children between, before and after the known ones.
  var missing: [Run] {
    var runs: [Run] = []
    var next = 0
    for child in children {
      if child.index > next { runs.append(Run(lowerBound: next, upperBound: child.index)) }
      next = child.index + 1
    }
    if count.map({ next < $0 }) ?? true { runs.append(Run(lowerBound: next, upperBound: nil)) }
    return runs
  }
}
