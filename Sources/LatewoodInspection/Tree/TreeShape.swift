import LatewoodFile

/// The shape of a tree, or of the nodes that contain one keyspace.
package struct TreeShape {
  package struct Level {
    /// The level; 0 for leaves.
    package let level: UInt8
    package var nodes = 0
    /// The number of entries in leaves, or of children in branches.
    package var items = 0
    package var bytes: UInt64 = 0
    package var damaged = 0
    /// The numbers of nodes with a length of up to one tenth, two tenths … of `nodeSize`; the last
    /// number is for longer nodes.
    package var histogram = [Int](repeating: 0, count: 11)
  }

  /// The levels, from the root to the leaves.
  package private(set) var levels: [Level] = []
  /// The power of two into which nine in ten nodes fit. The file does not record the configured
  /// node size.
  package let nodeSize: UInt32

  package var depth: Int { levels.count }
  package var nodes: Int { levels.reduce(0) { $0 + $1.nodes } }
  package var bytes: UInt64 { levels.reduce(0) { $0 + $1.bytes } }

  /// - Parameter keyspace: the keyspace whose nodes to include; nil for the whole tree.
  package init(_ tree: LiveTree, keyspace: UInt32? = nil) {
    nodeSize = Self.nodeSize(of: tree.nodes.map(\.length))
    var levels: [UInt8: Level] = [:]
    for node in tree.nodes {
      if let keyspace, !(node.keyspaces?.contains(keyspace) ?? false) { continue }
      var level = levels[node.level] ?? Level(level: node.level)
      level.nodes += 1
      level.items += node.count
      level.bytes += UInt64(node.length)
      if node.isDamaged { level.damaged += 1 }
      let tenth = node.length > nodeSize ? 10 : Int((node.length - 1) * 10 / nodeSize)
      level.histogram[tenth] += 1
      levels[node.level] = level
    }
    self.levels = levels.values.sorted { $0.level > $1.level }
  }

  /// - Parameter lengths: the lengths of nodes.
  static func nodeSize(of lengths: [UInt32]) -> UInt32 {
    let lengths = lengths.sorted()
    guard !lengths.isEmpty else { return 1 }
    let most = lengths[(lengths.count * 9 + 9) / 10 - 1]
    var size: UInt32 = 64
    while size < most, size < 1 << 16 { size *= 2 }
    return size
  }
}

extension TreeShape.Level {
  /// Returns the mean length of a node as a share of `size`, in hundredths.
  package func fill(of size: UInt32) -> Int {
    nodes == 0 ? 0 : Int(bytes * 100 / (UInt64(nodes) * UInt64(max(size, 1))))
  }
}
