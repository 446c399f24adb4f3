import LatewoodBytes

/// The items of one level of a tree under construction that are not yet in nodes.
///
/// ```
/// items   0 ..< held        a finished node's worth, not written yet, so that it can share
///                           evenly with the items after it
///         held ..< count    the current node, being filled
/// ```
///
/// Invariants:
/// 1. Keys ascend strictly; `shared` of every item but the first is the length of the prefix that
///    it shares with the previous one.
/// 2. `cells` and `prefixLength` describe the items `held ..< count`.
struct BuilderLevel {
  let isLeaf: Bool
  private(set) var items: UnsafeMutablePointer<BuilderItem>
  /// The allocated memory. Items before `items` are already in nodes.
  private var memory: UnsafeMutablePointer<BuilderItem>
  /// The number of items that fit into the memory at `items`.
  private var capacity = 0
  private(set) var count = 0
  private(set) var held = 0
  /// The cost of the current items without a prefix, in bytes.
  private var cells = 0
  /// The length of the longest common prefix of the current items' keys; in a branch, without the
  /// first.
  private var prefixLength = 0

  init(isLeaf: Bool) {
    self.isLeaf = isLeaf
    // SAFETY: `items` has memory for `capacity` items, of which the first `count` are initialized;
    // they are trivial.
    capacity = 64
    memory = .allocate(capacity: capacity)
    items = memory
  }

  func deallocate() { memory.deallocate() }

  @inline(__always) var currentCount: Int { count &- held }
  var isEmpty: Bool { count == 0 }
  var last: BuilderItem { items[count - 1] }

  /// An upper bound of the length, in bytes, of a node of the current items.
  @inline(__always) var currentLength: Int {
    let keys = isLeaf ? currentCount : currentCount &- 1
    return NodeLayout.arrays &+ cells &- (keys > 0 ? (keys &- 1) &* prefixLength : 0)
  }

  /// Adds an item to the current node. Returns false if it does not fit: the caller must `advance`
  /// first.
  @inline(__always) mutating func add(_ new: BuilderItem, nodeSize: Int) throws(StorageError) -> Bool {
    var item = new
    if count > 0 {
      let before = items[count &- 1].key
      let common = item.key.commonPrefix(before)
      guard
        common < item.key.count
          && (common == before.count || before.byte(common) < item.key.byte(common))
      else { throw StorageError(.damaged, "the keys of a new tree are not in ascending order") }
      item.shared = common
    }
    let number = currentCount
    let first = isLeaf ? 0 : 1
    var prefix = 0
    if number > first {
      prefix = min(prefixLength, item.shared)
    } else if number == first {
      prefix = item.key.count
    }
    let cost = isLeaf ? item.entryCost : number == 0 ? BuilderItem.firstChildCost : item.childCost
    let length = NodeLayout.arrays &+ cells &+ cost &- (number > first ? (number &- first) &* prefix : 0)
    if number > 0, NodeSplit.isTooLong(length, number, nodeSize: nodeSize) { return false }
    if count == capacity { grow() }
    items[count] = item
    count &+= 1
    cells &+= cost
    prefixLength = prefix
    return true
  }

  private mutating func grow() {
    let gone = items - memory
    if gone >= count {
      memory.moveInitialize(from: items, count: count)
      capacity += gone
    } else {
      capacity = (capacity + gone) * 2
      let larger = UnsafeMutablePointer<BuilderItem>.allocate(capacity: capacity)
      larger.moveInitialize(from: items, count: count)
      memory.deallocate()
      memory = larger
    }
    items = memory
  }

  /// Holds back the current node, which is complete. The one held back before has been written.
  mutating func hold() {
    held = count
    cells = 0
    prefixLength = 0
  }

  /// Removes the first `number` items, which are now in a node. The remaining held items stay held.
  mutating func removeFirst(_ number: Int) {
    count -= number
    items += number
    capacity -= number
    let cutsCurrent = number > held
    held = max(0, held - number)
    if cutsCurrent { recount() }
  }

  /// Removes and returns the last item.
  mutating func removeLast() -> BuilderItem {
    let item = items[count - 1]
    count -= 1
    if held >= count { held = 0 }
    recount()
    return item
  }

  /// Removes and returns all items.
  mutating func removeAll() -> [BuilderItem] {
    let all = Array(UnsafeBufferPointer(start: items, count: count))
    count = 0
    held = 0
    recount()
    return all
  }

  /// Recomputes `cells` and `prefixLength` after a change of the current items.
  mutating func recount() {
    cells = held < count ? cost(held, count) : 0
    prefixLength = prefix(held, count)
  }

  /// Returns the length of the longest common prefix of the keys in a node of the items `start ..<
  /// end`.
  func prefix(_ start: Int, _ end: Int) -> Int {
    let first = isLeaf ? start : start + 1
    guard first < end else { return 0 }
    var prefix = items[first].key.count
    for index in (first + 1)..<max(end, first + 1) { prefix = min(prefix, items[index].shared) }
    return prefix
  }

  func cost(_ start: Int, _ end: Int) -> Int {
    var sum = 0
    for index in start..<end {
      sum +=
        isLeaf ? items[index].entryCost : index == start ? BuilderItem.firstChildCost : items[index].childCost
    }
    return sum
  }

  /// An upper bound of the length, in bytes, of a node of the items `start ..< end`.
  func length(_ start: Int, _ end: Int) -> Int {
    let keys = isLeaf ? end - start : end - start - 1
    return NodeLayout.arrays + cost(start, end) - max(0, keys - 1) * prefix(start, end)
  }
}
