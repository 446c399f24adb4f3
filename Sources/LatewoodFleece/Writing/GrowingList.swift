/// A growing list of plain values with little overhead: unlike an array, it is never shared, so a
/// change does not check for other owners.
///
/// Invariant: `start` has room for `capacity` elements, of which the first `count` are set; `count
/// <= capacity`. Every index that is passed must be below `count`; debug builds check it.
struct GrowingList<Element: BitwiseCopyable>: ~Copyable {
  private var start: UnsafeMutablePointer<Element>
  private(set) var count = 0
  private var capacity: Int

  /// - Parameter capacity: the initial number of elements for which there is room; not 0.
  init(capacity: Int) {
    self.capacity = max(1, capacity)
    start = UnsafeMutablePointer.allocate(capacity: self.capacity)
  }

  deinit { start.deallocate() }

  var isEmpty: Bool { count == 0 }

  /// The last element; nil if there is none.
  @inline(__always) var last: Element? { count == 0 ? nil : self[count &- 1] }

  @inline(__always) subscript(index: Int) -> Element {
    get {
      assert(index >= 0 && index < count)
      // SAFETY: the invariant; the same below.
      return start[index]
    }
    _modify {
      assert(index >= 0 && index < count)
      yield &start[index]
    }
  }

  @inline(__always) mutating func append(_ element: Element) {
    if count == capacity { grow(to: capacity * 2) }
    // SAFETY: there is room for one more.
    (start + count).initialize(to: element)
    count &+= 1
  }

  /// Removes the last element, which must exist.
  @inline(__always) mutating func removeLast() {
    precondition(count > 0)
    count &-= 1
  }

  /// Removes all elements starting at an index and keeps the memory.
  @inline(__always) mutating func truncate(to length: Int) {
    assert(length >= 0 && length <= count)
    count = length
  }

  /// Removes all elements and keeps the memory.
  mutating func removeAll() { count = 0 }

  /// Replaces the elements with `length` copies of one value.
  mutating func fill(_ length: Int, with element: Element) {
    if length > capacity { grow(to: length) }
    // SAFETY: there is room for `length` elements.
    start.update(repeating: element, count: length)
    count = length
  }

  @inline(never) private mutating func grow(to enlarged: Int) {
    let moved = UnsafeMutablePointer<Element>.allocate(capacity: enlarged)
    // SAFETY: both have room for `count` elements.
    moved.initialize(from: start, count: count)
    start.deallocate()
    start = moved
    capacity = enlarged
  }
}
