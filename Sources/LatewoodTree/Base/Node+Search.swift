import LatewoodBytes

extension Node {
  /// Returns the index of the first entry of a leaf whose key is not less than `key`, or `count`;
  /// and whether its key is equal to `key`.
  @inline(__always) func lowerBound(_ key: UnsafeRawPointer, _ keyCount: Int) -> (index: Int, found: Bool) {
    search(key, keyCount, from: 0, ofLeaf: true)
  }

  /// Returns the index of the child of a branch under which `key` belongs.
  @inline(__always) func childIndex(_ key: UnsafeRawPointer, _ keyCount: Int) -> Int {
    let (index, found) = search(key, keyCount, from: 1, ofLeaf: false)
    return found ? index : index &- 1
  }

  /// Finds the lower bound among the keys `first ..< count`. Compares heads first, and complete
  /// keys only in a run of equal heads.
  @inline(__always) private func search(
    _ key: UnsafeRawPointer, _ keyCount: Int, from first: Int, ofLeaf: Bool
  ) -> (index: Int, found: Bool) {
    // A key that does not start with the prefix precedes or follows all keys of the node.
    if prefixCount > 0 {
      let shared = keyCount < prefixCount ? keyCount : prefixCount
      let order = KeyOrder.compare(key, shared, prefix, prefixCount)
      if order != 0 { return (order < 0 ? first : count, false) }
    }
    let rest = key + prefixCount
    let restCount = keyCount &- prefixCount
    let head = KeyOrder.head(rest, restCount)
    var low = Node.lowerBound(heads, first, count, head)
    guard low < count, self.head(low) == head else { return (low, false) }
    var high = low &+ 1
    if high < count, self.head(high) == head {
      // Binary inside the run too, so that a node whose heads are all equal is not searched
      // linearly.
      high = head == .max ? count : Node.lowerBound(heads, high, count, head &+ 1)
    }
    while low < high {
      let middle = (low &+ high) &>> 1
      let (suffix, suffixCount) = ofLeaf ? entrySuffix(middle) : separatorSuffix(middle)
      let order = KeyOrder.compare(suffix, suffixCount, rest, restCount)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle &+ 1 } else { high = middle }
    }
    return (low, false)
  }

  /// Returns the index of the first of the heads `first ..< end` that is not less than `head`, or
  /// `end`.
  ///
  /// One head of every cache line is compared first. These loads do not depend on each other, so
  /// missing lines are fetched together; a binary search would wait for each in turn.
  @inline(__always) static func lowerBound(
    _ heads: UnsafeRawPointer, _ first: Int, _ end: Int, _ head: UInt32
  ) -> Int {
    var low = first
    var length = end &- first
    while length > 512 {
      let half = length &>> 1
      let probe = heads.u32((low &+ half &- 1) &* 4)
      low = probe < head ? low &+ half : low
      length &-= half
    }
    if length > 16 {
      var at = low &+ 15
      let last = low &+ length
      var lines = 0
      while at < last {
        lines &+= heads.u32(at &* 4) < head ? 1 : 0
        at &+= 16
      }
      low &+= lines &* 16
      length = last &- low < 16 ? last &- low : 16
    }
    while length > 1 {
      let half = length &>> 1
      // Written so that the compiler emits a conditional move: a branch would be mispredicted half
      // of the time.
      let probe = heads.u32((low &+ half &- 1) &* 4)
      low = probe < head ? low &+ half : low
      length &-= half
    }
    if length == 1, heads.u32(low &* 4) < head { low &+= 1 }
    return low
  }
}
