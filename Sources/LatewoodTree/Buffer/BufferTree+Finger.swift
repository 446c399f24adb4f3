import LatewoodBytes
import LatewoodFile

/// The finger: a leaf in which the next key is inserted without a search, if it belongs there.
/// Ascending keys do, and runs of sorted keys between those of the tree.
extension BufferTree {
  /// Sets the finger to the leaf of the last search.
  mutating func setFinger(_ leaf: BufferNode) {
    finger = leaf.pointer
    fingerLimit = nil
    var depth = path.depth
    while depth > 0 {
      depth &-= 1
      let branch = BufferNode(path.nodes[depth])
      let next = path.indexes[depth] &+ 1
      if next < branch.count {
        fingerLimit = branch.reference(next)
        return
      }
    }
  }

  /// Inserts a record into the finger. Returns false, and changes nothing but the finger, if the
  /// key does not belong there, may be there already, or there is no space.
  @inline(__always) mutating func insertAtFinger(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ reference: RecordReference, _ space: borrowing RecordSpace
  ) throws(StorageError) -> Bool {
    guard let finger else { return false }
    let leaf = BufferNode(finger)
    let count = leaf.count
    // The nodes above a settled leaf may be settled too, and a change must unsettle them.
    guard count < leaf.capacity, leaf.comparePrefix(key, keyCount) == 0, !leaf.isSettled else {
      self.finger = nil
      return false
    }
    let skip = leaf.prefixCount
    let head = KeyOrder.head(key + skip, keyCount &- skip)
    let lastHead = leaf.heads[count &- 1]
    guard head >= lastHead else { return insert(head, reference, inside: leaf) }
    if head == lastHead {
      let last = try space.record(leaf.reference(count &- 1))
      guard KeyOrder.compare(key, keyCount, last.key, last.keyCount) > 0 else {
        self.finger = nil
        return false
      }
    }
    if let fingerLimit {
      let limit = try space.record(fingerLimit)
      guard KeyOrder.compare(key, keyCount, limit.key, limit.keyCount) < 0 else {
        self.finger = nil
        return false
      }
    }
    leaf.heads[count] = head
    leaf.references[count] = reference.bits
    leaf.count = count &+ 1
    entries &+= 1
    return true
  }

  /// Inserts a record between the first and the last one of the finger, if heads alone tell where.
  private mutating func insert(_ head: UInt32, _ reference: RecordReference, inside leaf: BufferNode) -> Bool
  {
    let heads = leaf.heads
    let count = leaf.count
    // The last head is greater, so an index is found.
    let index = head > heads[0] ? Node.lowerBound(UnsafeRawPointer(heads), 0, count, head) : 0
    guard index > 0, heads[index] != head else {
      finger = nil
      return false
    }
    (heads + (index &+ 1)).update(from: heads + index, count: count &- index)
    let references = leaf.references
    (references + (index &+ 1)).update(from: references + index, count: count &- index)
    heads[index] = head
    references[index] = reference.bits
    leaf.count = count &+ 1
    entries &+= 1
    return true
  }
}
