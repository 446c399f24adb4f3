import LatewoodBytes
import LatewoodFile

/// A position in one version of the write buffer's tree.
///
/// Follows pointers into nodes of the version, which the owner of the cursor keeps alive. Throws
/// `damaged` if it encounters a record that has changed; then it is not on an entry.
struct BufferCursor: ~Copyable {
  /// A node on the way from the root to the current entry, and the index taken in it.
  private struct Step {
    var node: UnsafeMutableRawPointer
    var index: Int
  }

  private static let capacity = 16
  // SAFETY: never read or written, because a cursor without a root takes no steps.
  private static nonisolated(unsafe) let noPath = UnsafeMutablePointer<Step>.allocate(capacity: 0)
  private let path: UnsafeMutablePointer<Step>
  private var depth = 0
  private let root: UnsafeMutableRawPointer?
  let space: RecordSpace
  /// Whether the cursor is on an entry, described by the properties below.
  private(set) var isValid = false
  private(set) var reference = RecordReference(bits: 0)
  private(set) var record: LogRecord
  /// The number of steps forward so far.
  private(set) var steps = 0
  /// The sum of the touched bytes, so that the compiler does not remove the reads.
  private var touched: UInt8 = 0

  init(root: UnsafeMutableRawPointer?, space: RecordSpace) {
    self.root = root
    self.space = space
    path = root == nil ? Self.noPath : .allocate(capacity: Self.capacity)
    record = LogRecord.none(at: space.base)
  }

  deinit { if root != nil { path.deallocate() } }

  @inline(__always) var key: UnsafeRawPointer { record.key }
  @inline(__always) var keyCount: Int { record.keyCount }

  /// The value of the current entry.
  ///
  /// - Parameter file: the file in which extents are verified.
  @inline(__always) func value(in file: FileView) throws(StorageError) -> UnsafeRawBufferPointer {
    try space.value(of: record, reference, in: file)
  }

  private mutating func load() throws(StorageError) {
    isValid = false
    let leaf = BufferNode(path[depth &- 1].node)
    reference = leaf.reference(path[depth &- 1].index)
    record = try space.record(reference)
    isValid = true
  }

  /// Moves to the first entry whose key is not less than `target`.
  mutating func seek(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) {
    guard try descend(target, targetCount) else { return }
    try settleForward()
    // A caller that continues from the found key must make progress.
    if isValid, KeyOrder.compare(key, keyCount, target, targetCount) < 0 { throw outOfOrder() }
  }

  /// Moves to the last entry whose key is less than `target`.
  mutating func seekBefore(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) {
    guard try descend(target, targetCount) else { return }
    path[depth &- 1].index &-= 1
    try settleBackward()
    if isValid, KeyOrder.compare(key, keyCount, target, targetCount) >= 0 { throw outOfOrder() }
  }

  /// Invalidates the cursor and returns the error for a key at the wrong position in the buffer.
  private mutating func outOfOrder() -> StorageError {
    isValid = false
    return LogRecord.changed(at: reference.offset)
  }

  /// Moves to the position of a key in its leaf; returns false if the tree is empty.
  private mutating func descend(_ target: UnsafeRawPointer, _ targetCount: Int) throws(StorageError) -> Bool {
    depth = 0
    isValid = false
    guard let root else { return false }
    var node = BufferNode(root)
    while node.isBranch {
      let index = try node.childIndex(target, targetCount, space)
      push(node, index)
      node = node.child(index)
    }
    push(node, try node.lowerBound(target, targetCount, space).index)
    return true
  }

  /// Moves to the next entry.
  @inline(__always) mutating func next() throws(StorageError) {
    path[depth &- 1].index &+= 1
    steps &+= 1
    if steps & (BufferCursor.touchCount &- 1) == 0 { touchAhead() }
    let top = path[depth &- 1]
    if top.index < BufferNode(top.node).count { try load() } else { try settleForward() }
  }

  @inline(__always) mutating func previous() throws(StorageError) {
    path[depth &- 1].index &-= 1
    if path[depth &- 1].index >= 0 { try load() } else { try settleBackward() }
  }

  /// Touches the next records of the leaf.
  @inline(never) private mutating func touchAhead() {
    let leaf = BufferNode(path[depth &- 1].node)
    let first = path[depth &- 1].index
    touched &+= space.touch(
      leaf, min(first, leaf.count)..<min(first &+ BufferCursor.touchCount, leaf.count))
  }

  /// The number of records that are touched together: a power of two.
  static let touchCount = 8

  /// The leaf of the current entry, and the index in it.
  @inline(__always) var position: (leaf: BufferNode, index: Int) {
    let top = path[depth &- 1]
    return (BufferNode(top.node), top.index)
  }

  /// Moves to the first entry after the leaf of the current one.
  mutating func passLeaf() throws(StorageError) {
    let (leaf, index) = position
    steps &+= leaf.count &- index
    path[depth &- 1].index = leaf.count
    try settleForward()
  }

  @inline(__always) private mutating func push(_ node: BufferNode, _ index: Int) {
    path[depth] = Step(node: node.pointer, index: index)
    depth &+= 1
  }

  private mutating func settleForward() throws(StorageError) {
    while depth > 0 {
      let node = BufferNode(path[depth &- 1].node)
      let index = path[depth &- 1].index
      if index < node.count {
        if !node.isBranch { return try load() }
        push(node.child(index), 0)
      } else {
        depth &-= 1
        if depth > 0 { path[depth &- 1].index &+= 1 }
      }
    }
    isValid = false
  }

  private mutating func settleBackward() throws(StorageError) {
    while depth > 0 {
      let node = BufferNode(path[depth &- 1].node)
      let index = path[depth &- 1].index
      if index >= 0 {
        if !node.isBranch { return try load() }
        let child = node.child(index)
        push(child, child.count &- 1)
      } else {
        depth &-= 1
        if depth > 0 { path[depth &- 1].index &-= 1 }
      }
    }
    isValid = false
  }
}
