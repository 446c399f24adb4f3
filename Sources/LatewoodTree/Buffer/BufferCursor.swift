import LatewoodBytes
import LatewoodFile

/// A position in one version of the write buffer's tree.
///
/// It follows pointers into nodes that the version keeps alive; whoever holds a cursor holds the
/// version.
struct BufferCursor: ~Copyable {
  private static let capacity = 16
  private let nodes: UnsafeMutablePointer<UnsafeMutableRawPointer>
  private let indexes: UnsafeMutablePointer<Int>
  private var depth = 0
  private let root: UnsafeMutableRawPointer?
  let space: RecordSpace
  /// Whether it stands on an entry. What follows is of that entry.
  private(set) var isValid = false
  private(set) var reference = RecordReference(bits: 0)
  private(set) var key: UnsafeRawPointer
  private(set) var keyCount = 0

  init(root: UnsafeMutableRawPointer?, space: RecordSpace) {
    self.root = root
    self.space = space
    nodes = .allocate(capacity: Self.capacity)
    indexes = .allocate(capacity: Self.capacity)
    key = space.base
  }

  deinit {
    nodes.deallocate()
    indexes.deallocate()
  }

  private mutating func load() {
    let leaf = BufferNode(nodes[depth &- 1])
    reference = leaf.reference(indexes[depth &- 1])
    let record = space.record(reference)
    key = record.key
    keyCount = record.keyCount
    isValid = true
  }

  /// To the first entry that is not less than a key.
  mutating func seek(_ target: UnsafeRawPointer, _ targetCount: Int) {
    guard descend(target, targetCount) else { return }
    settleForward()
  }

  /// To the last entry that is less than a key.
  mutating func seekBefore(_ target: UnsafeRawPointer, _ targetCount: Int) {
    guard descend(target, targetCount) else { return }
    indexes[depth &- 1] &-= 1
    settleBackward()
  }

  /// To the place of a key in the leaf where it belongs; false if there is no leaf.
  private mutating func descend(_ target: UnsafeRawPointer, _ targetCount: Int) -> Bool {
    depth = 0
    isValid = false
    guard let root else { return false }
    var node = BufferNode(root)
    while node.isBranch {
      let index = node.childIndex(target, targetCount, space)
      push(node, index)
      node = node.child(index)
    }
    push(node, node.lowerBound(target, targetCount, from: 0, space).index)
    return true
  }

  @inline(__always) mutating func next() {
    indexes[depth &- 1] &+= 1
    if indexes[depth &- 1] < BufferNode(nodes[depth &- 1]).count { load() } else { settleForward() }
  }

  @inline(__always) mutating func previous() {
    indexes[depth &- 1] &-= 1
    if indexes[depth &- 1] >= 0 { load() } else { settleBackward() }
  }

  @inline(__always) private mutating func push(_ node: BufferNode, _ index: Int) {
    nodes[depth] = node.pointer
    indexes[depth] = index
    depth &+= 1
  }

  private mutating func settleForward() {
    while depth > 0 {
      let node = BufferNode(nodes[depth &- 1])
      let index = indexes[depth &- 1]
      if index < node.count {
        if !node.isBranch { return load() }
        push(node.child(index), 0)
      } else {
        depth &-= 1
        if depth > 0 { indexes[depth &- 1] &+= 1 }
      }
    }
    isValid = false
  }

  private mutating func settleBackward() {
    while depth > 0 {
      let node = BufferNode(nodes[depth &- 1])
      let index = indexes[depth &- 1]
      if index >= 0 {
        if !node.isBranch { return load() }
        let child = node.child(index)
        push(child, child.count &- 1)
      } else {
        depth &-= 1
        if depth > 0 { indexes[depth &- 1] &-= 1 }
      }
    }
    isValid = false
  }
}

/// Looks a key up in one version of the write buffer's tree.
enum BufferLookup {
  @inline(__always) static func find(
    _ root: UnsafeMutableRawPointer, _ key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) -> RecordReference? {
    var node = BufferNode(root)
    while node.isBranch { node = node.child(node.childIndex(key, keyCount, space)) }
    let (index, isFound) = node.lowerBound(key, keyCount, from: 0, space)
    return isFound ? node.reference(index) : nil
  }
}
