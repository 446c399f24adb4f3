import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Leaves with keys in the ranges that the tree has lost, found anywhere in the file by their
/// headers.
struct OlderLeaves {
  struct Leaf {
    var reference: NodeReference
    var transaction: UInt64
    /// The number of entries according to the header of a damaged leaf; nil for a sound one.
    var damagedEntries: UInt64?
  }

  /// The leaves, the oldest first.
  private(set) var leaves: [Leaf] = []

  /// - Parameters:
  ///   - newest: the transaction of the checkpoint that was read. A later checkpoint was not
  ///     finished, so its leaves are ignored.
  ///   - takesDamaged: whether to include damaged leaves with an intact header, if nothing else
  ///     refers to them.
  init(
    in file: UnitReader, of ranges: KeyIntervals, upTo newest: UInt64,
    takesDamaged: Bool
  ) throws(StorageError) {
    var frames = file.soundFrames(from: FileLayout.logStart)
    while let piece = try frames.next() {
      var room: Range<UInt64>
      switch piece {
      case .gap(let range): room = range
      case .frame(let header, _, _):
        guard header.kind == .nodes, let end = header.end else { continue }
        let start = header.ownOffset + UInt64(FrameHeader.length)
        room = start..<max(start, min(end, file.reader.size))
      }
      try scan(room, file, ranges, newest, takesDamaged)
    }
    leaves.sort { ($0.transaction, $0.reference.offset) < ($1.transaction, $1.reference.offset) }
  }

  private mutating func scan(
    _ room: Range<UInt64>, _ file: UnitReader, _ ranges: KeyIntervals, _ newest: UInt64, _ takesDamaged: Bool
  ) throws(StorageError) {
    let step = FileLayout.nodeAlignment
    var at = (room.lowerBound + step - 1) / step * step
    while at < room.upperBound {
      guard let reference = try file.reference(at: at) else {
        at += step
        continue
      }
      guard let node = try file.soundNode(reference, level: nil) else {
        if takesDamaged, let leaf = try damagedLeaf(reference, file.reader), leaf.transaction <= newest {
          leaves.append(leaf)
        }
        at += step
        continue
      }
      at += (UInt64(reference.length) + step - 1) / step * step
      guard node.node.isLeaf, node.transaction <= newest, let (first, last) = node.bounds else { continue }
      let span = KeyIntervals.Interval(low: first, high: last.successor)
      if !ranges.clipping(span).isEmpty {
        leaves.append(Leaf(reference: reference, transaction: node.transaction))
      }
    }
  }

  private func damagedLeaf(_ reference: NodeReference, _ reader: FileReader) throws(StorageError) -> Leaf? {
    let leaf = try reader.window.withBytes(at: reference.offset, count: NodeLayout.arrays) { base in
      let count = base.u16(NodeLayout.count)
      guard base.u8(NodeLayout.kind) == NodeLayout.leafKind, base.u8(NodeLayout.level) == 0, count > 0,
        reference.length <= FileLayout.nodeLimit
      else { return nil as Leaf? }
      return Leaf(
        reference: reference, transaction: base.u64(NodeLayout.transaction), damagedEntries: UInt64(count))
    }
    return leaf ?? nil
  }
}
