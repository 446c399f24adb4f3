import LatewoodBytes
import LatewoodFile

/// A receiver of finished nodes. Children come before their parents.
///
/// A new node has no place in the file, only a provisional offset (`Provisional`). Now and then the
/// sink places the nodes it has gathered; then `placements` grows, and `reference` returns the
/// references of that batch until the next one is placed.
protocol NodeSink: AnyObject {
  /// Returns memory for the next node, with zeros in place of its header, and the provisional
  /// offset that its parent writes. May place the nodes before it.
  func room(for length: Int) throws(Fault) -> (target: UnsafeMutableRawPointer, provisional: UInt64)
  var placements: Int { get }
  func reference(of provisional: UInt64) -> NodeReference
  /// Places the nodes gathered so far. More may follow.
  func finish() throws(Fault)
}

/// Offsets that stand for nodes without a place in the file. Real offsets are far below these.
enum Provisional {
  static let mark: UInt64 = 1 << 63
  @inline(__always) static func isProvisional(_ offset: UInt64) -> Bool { offset & mark != 0 }
}
