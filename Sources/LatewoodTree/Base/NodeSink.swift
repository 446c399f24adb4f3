import LatewoodBytes
import LatewoodFile

/// A receiver of encoded nodes. Children precede their parents.
///
/// A new node has only a provisional offset (`Provisional`). The sink places nodes in the file in
/// batches: each time `placements` grows, and `reference` returns the references of that batch
/// until the next one is placed.
protocol NodeSink: AnyObject {
  /// Returns memory for the next node, with a zeroed header, and the provisional offset by which
  /// its parent refers to it. May place the nodes before it.
  func allocate(length: Int) throws(StorageError) -> (target: UnsafeMutableRawPointer, provisional: UInt64)
  var placements: Int { get }
  func reference(of provisional: UInt64) -> NodeReference
  /// Places the nodes received so far. More may follow.
  func finish() throws(StorageError)
}

/// Offsets that stand for nodes not yet placed in the file. Real offsets are far smaller.
enum Provisional {
  static let mark: UInt64 = 1 << 63
  @inline(__always) static func isProvisional(_ offset: UInt64) -> Bool { offset & mark != 0 }
}
