import LatewoodBytes
import LatewoodFile

extension BufferTree {
  /// Removes the entries in `low ..< high`, for a range delete. O(log n), plus the cost of retiring
  /// the nodes completely inside the range.
  ///
  /// Throws like `insert`; then the version being written must be aborted.
  mutating func removeRange(
    from low: KeyPointer, below high: KeyPointer, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    guard let root, try hasEntry(BufferNode(root), from: low, below: high, space) else { return }
    finger = nil
    var top = try cut(BufferNode(root), from: low, below: high, space)
    while let node = top, node.isBranch, node.count == 1 {
      top = node.child(0)
      retire(node)
    }
    self.root = top?.pointer
  }

  private func hasEntry(
    _ root: BufferNode, from low: KeyPointer, below high: KeyPointer, _ space: borrowing RecordSpace
  ) throws(StorageError) -> Bool {
    var cursor = BufferCursor(root: root.pointer, space: copy space)
    try cursor.seek(low.start, low.count)
    return cursor.isValid && KeyOrder.compare(cursor.key, cursor.keyCount, high.start, high.count) < 0
  }

  /// Removes a range from a node and returns the rest; nil if nothing is left. A nil bound lies
  /// beyond the node.
  private mutating func cut(
    _ shared: BufferNode, from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(StorageError) -> BufferNode? {
    guard low != nil || high != nil else {
      retireSubtree(shared)
      return nil
    }
    let node = makePrivate(shared)
    if node.isBranch {
      try cutChildren(node, from: low, below: high, space)
    } else {
      let (first, end) = try node.entries(from: low, below: high, space)
      if first < end {
        node.remove(first, end)
        entries &-= end &- first
      }
    }
    if node.count > 0 { return node }
    slab.release(node)
    return nil
  }

  /// Cuts the children that contain the bounds, and retires the children between them. Even if this
  /// throws, the branch does not refer to a retired child.
  private mutating func cutChildren(
    _ branch: BufferNode, from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    let (first, last) = try branch.edges(from: low, below: high, space)
    try cutChild(last, of: branch, from: first == last ? low : nil, below: high, space)
    guard first < last else { return }
    for index in first &+ 1..<last { retireSubtree(branch.child(index)) }
    branch.remove(first &+ 1, last)
    try cutChild(first, of: branch, from: low, below: nil, space)
  }

  private mutating func cutChild(
    _ index: Int, of branch: BufferNode, from low: KeyPointer?, below high: KeyPointer?,
    _ space: borrowing RecordSpace
  ) throws(StorageError) {
    if let rest = try cut(branch.child(index), from: low, below: high, space) {
      branch.children[index] = rest.pointer
    } else {
      branch.remove(index, index &+ 1)
    }
  }

  /// Retires a node and all nodes under it.
  private mutating func retireSubtree(_ node: BufferNode) {
    if node.isBranch {
      for index in 0..<node.count { retireSubtree(node.child(index)) }
    } else {
      entries &-= node.count
    }
    retire(node)
  }

  private mutating func retire(_ node: BufferNode) {
    if node.born == version {
      slab.release(node)
    } else {
      retired.append(Retired(node: node.pointer, died: version))
    }
  }
}

extension BufferNode {
  /// Removes the entries `first ..< end`.
  fileprivate func remove(_ first: Int, _ end: Int) {
    let tail = count &- end
    if tail > 0 {
      (heads + first).update(from: heads + end, count: tail)
      (references + first).update(from: references + end, count: tail)
      if isBranch {
        (children + first).update(from: children + end, count: tail)
        (tails + first).update(from: tails + end, count: tail)
      }
    }
    count = first &+ tail
  }
}
