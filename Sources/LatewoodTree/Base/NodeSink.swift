import LatewoodBytes
import LatewoodFile

/// Where finished nodes go. Children come before their parents.
///
/// A node has no place in the file when it is made, only a provisional offset (`Provisional`). Now
/// and then the sink places what it has gathered; then `placements` grows, and `reference` answers
/// for every node of that batch until the next one is placed.
protocol NodeSink: AnyObject {
  /// Room for the next node, with zeros where its header goes, and the provisional offset that a
  /// parent writes for it. May place what came before.
  func room(for length: Int) throws(Fault) -> (target: UnsafeMutableRawPointer, provisional: UInt64)
  var placements: Int { get }
  func reference(of provisional: UInt64) -> NodeReference
  /// Places the rest.
  func finish() throws(Fault)
}

/// Offsets that stand for nodes without a place in the file. Real offsets are far below these.
enum Provisional {
  static let mark: UInt64 = 1 << 63
  @inline(__always) static func isProvisional(_ offset: UInt64) -> Bool { offset & mark != 0 }
}
