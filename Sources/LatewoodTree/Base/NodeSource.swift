import LatewoodBytes
import LatewoodFile

/// Where nodes come from: the file in memory. It gives out a node only after its bytes were proved.
///
/// Bounds and the fields that a reference repeats are checked every time, which costs one cache
/// line that the search needs anyway; the checksum and the whole structure the first time this
/// process touches the node, and one bit test after that.
struct NodeSource {
  var file: FileView
  /// What the keys of leaves must have at least: those above take the number of the keyspace off
  /// without asking.
  var minimumKeyLength = NodeLayout.minimumKeyLength

  /// The node that `reference` means, at the level that its parent implies.
  @inline(__always) func node(_ reference: NodeReference, level: UInt8) throws(Fault) -> Node {
    let length = UInt64(reference.length)
    // 48 bytes: the header and anything at all, so that the fields compared below lie within the
    // file.
    guard length >= 48, length <= file.limit, reference.offset <= file.limit &- length,
      reference.offset >= NodeLayout.firstFrame, reference.offset & 63 == 0
    else { throw NodeSource.outside(reference) }
    let base = file.base + Int(truncatingIfNeeded: reference.offset)
    if !file.isVerified(reference.offset, FileView.Proof.node) { try prove(reference) }
    guard base.u32(NodeLayout.length) == reference.length, base.u8(NodeLayout.level) == level,
      base.u32(NodeLayout.checksum) == reference.checksum
    else { throw NodeSource.mismatch(reference) }
    return Node(validated: base)
  }

  @inline(__always) func root(_ subtree: Subtree) throws(Fault) -> Node {
    try node(subtree.reference, level: subtree.level)
  }

  /// Checks the node itself, whatever was proved before. Its reference lies within the file.
  @inline(never) func prove(_ reference: NodeReference) throws(Fault) {
    // SAFETY: the whole node lies within the file by the check of the reference.
    let base = file.base + Int(truncatingIfNeeded: reference.offset)
    try file.makeReadable(reference.offset, Int(reference.length))
    try NodeValidation(
      base: base, seed: file.seed, reference: reference, minimumKeyLength: minimumKeyLength
    ).run()
    file.markVerified(reference.offset, FileView.Proof.node)
  }

  @inline(never) private static func outside(_ reference: NodeReference) -> Fault {
    Fault.damaged(at: reference.offset, "a node does not lie within the file at a multiple of 64")
  }

  @inline(never) private static func mismatch(_ reference: NodeReference) -> Fault {
    Fault.damaged(
      at: reference.offset, "a node has another length, level or checksum than the reference to it says")
  }
}
