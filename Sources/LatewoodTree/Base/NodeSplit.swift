/// The rule by which a tree under construction distributes entries among its nodes.
///
/// - A node takes entries up to `nodeSize` bytes; beyond that only until it has three, so that the
///   tree stays low with long keys.
/// - A node below a quarter of that is too short, and so is a branch of one child. It is combined
///   with its neighbor, and both are divided evenly.
/// - A full leaf of another tree is taken over unchanged (`TreeBuilder.transplant`) if at most a
///   sixteenth of it is free.
enum NodeSplit {
  /// The number of entries that a node takes even if it becomes longer than `nodeSize`.
  static let leastItems = 3

  /// Whether one more entry makes a node too long.
  ///
  /// - Parameters:
  ///   - length: the length of the node with that entry, in bytes.
  ///   - count: the number of entries without it.
  @inline(__always) static func isTooLong(_ length: Int, _ count: Int, nodeSize: Int) -> Bool {
    (length > nodeSize && count >= leastItems) || length > NodeLayout.maximumLength
  }

  /// Whether a node is too short to stand alone.
  static func isTooShort(_ length: Int, nodeSize: Int) -> Bool { length < nodeSize / 4 }

  /// Whether a leaf is full enough to be taken over unchanged.
  static func isFull(_ length: Int, nodeSize: Int) -> Bool {
    length > nodeSize - nodeSize / 16 && length <= nodeSize
  }
}
