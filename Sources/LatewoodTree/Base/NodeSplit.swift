/// The rule by which a tree under construction distributes entries among its nodes.
///
/// - A node holds at most `nodeSize` bytes, but takes three entries even if they are longer
///   together, so that long keys do not make the tree deep.
/// - A node shorter than `nodeSize / 4`, or a branch with one child, is too short. Its items and
///   its neighbour's items become one node if they fit, and otherwise two of about the same length.
/// - A full leaf of another tree is copied unchanged (`TreeBuilder.transplant`) if at most a
///   sixteenth of it is free.
enum NodeSplit {
  /// The number of entries that a node takes even if it becomes longer than `nodeSize`.
  static let leastItems = 3

  /// Returns whether one more entry makes a node too long.
  ///
  /// - Parameters:
  ///   - length: the length of the node with that entry, in bytes.
  ///   - count: the number of entries without it.
  @inline(__always) static func isTooLong(_ length: Int, _ count: Int, nodeSize: Int) -> Bool {
    (length > nodeSize && count >= leastItems) || length > NodeLayout.maximumLength
  }

  /// Returns whether a node is too short to stand alone.
  static func isTooShort(_ length: Int, nodeSize: Int) -> Bool { length < nodeSize / 4 }

  /// Returns whether a leaf is full enough to be copied unchanged.
  static func isFull(_ length: Int, nodeSize: Int) -> Bool {
    length > nodeSize - nodeSize / 16 && length <= nodeSize
  }
}
