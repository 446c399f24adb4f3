import LatewoodBytes

/// The items of one level of a tree under construction that are not in nodes yet.
///
/// ```
/// items   0 ..< held        a node's worth that is finished but not written, so that it can share with what follows
///         held ..< count    the current node, being filled
/// ```
///
/// Invariants:
/// 1. Keys ascend strictly; `shared` of every item but the first is what it has in common with the
///    one before.
/// 2. `cells` and `prefixLength` are those of the items `held ..< count`.
struct BuilderLevel {
  let isLeaf: Bool
  private(set) var items: UnsafeMutablePointer<BuilderItem>
  /// What was allocated. Before `items` there is what has gone into nodes.
  private var memory: UnsafeMutablePointer<BuilderItem>
  /// Items that there is room for from `items` on.
  private var capacity = 0
  private(set) var count = 0
  private(set) var held = 0
  /// Cost of the current items without a prefix.
  private var cells = 0
  /// Longest common prefix of the current items' keys; of a branch, without the first.
  private var prefixLength = 0

  init(isLeaf: Bool) {
    self.isLeaf = isLeaf
    // SAFETY: `items` always has room for `capacity` items, of which the first `count` are
    // initialized; they are trivial.
    capacity = 64
    memory = .allocate(capacity: capacity)
    items = memory
  }

  func deallocate() { memory.deallocate() }

  @inline(__always) var currentCount: Int { count &- held }
  var isEmpty: Bool { count == 0 }
  var last: BuilderItem { items[count - 1] }

  /// Of the node that the current items make, in bytes; an upper bound.
  @inline(__always) var currentLength: Int {
    let keys = isLeaf ? currentCount : currentCount &- 1
    return NodeLayout.arrays &+ cells &- (keys > 0 ? (keys &- 1) &* prefixLength : 0)
  }

  /// Whether what waits is too little for a node of its own.
  func isUnderfull(nodeSize: Int) -> Bool {
    count > 0 && held == 0 && (currentLength < nodeSize / 4 || (!isLeaf && count < 2))
  }

  /// Adds `item` to the current node if it fits. False: it does not, and the caller has to
  /// `advance` first.
  @inline(__always) mutating func add(_ new: BuilderItem, nodeSize: Int) throws(Fault) -> Bool {
    var item = new
    if count > 0 {
      let before = items[count &- 1].key
      let common = item.key.commonPrefix(before)
      guard
        common < item.key.count
          && (common == before.count || before.byte(common) < item.key.byte(common))
      else { throw Fault(.damaged, "the keys that make up a new tree are not in ascending order") }
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
    if number > 0, (length > nodeSize && number >= 3) || length > NodeLayout.maximumLength { return false }
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

  /// The current node is finished; what was held before it has been written.
  mutating func hold() {
    held = count
    cells = 0
    prefixLength = 0
  }

  /// The first `number` items are in a node now. What is left of those held stays held.
  mutating func removeFirst(_ number: Int) {
    count -= number
    items += number
    capacity -= number
    let cutsCurrent = number > held
    held = max(0, held - number)
    if cutsCurrent { recount() }
  }

  /// Takes the last item away again.
  mutating func removeLast() -> BuilderItem {
    let item = items[count - 1]
    count -= 1
    if held >= count { held = 0 }
    recount()
    return item
  }

  /// Takes everything that waits.
  mutating func removeAll() -> [BuilderItem] {
    let all = Array(UnsafeBufferPointer(start: items, count: count))
    count = 0
    held = 0
    recount()
    return all
  }

  /// After a change of what is current.
  mutating func recount() {
    cells = held < count ? cost(held, count) : 0
    prefixLength = prefix(held, count)
  }

  /// Longest common prefix of the keys that a node of the items `start ..< end` has.
  func prefix(_ start: Int, _ end: Int) -> Int {
    let first = isLeaf ? start : start + 1
    guard first < end else { return 0 }
    var prefix = items[first].key.count
    for index in (first + 1)..<max(end, first + 1) { prefix = min(prefix, items[index].shared) }
    return prefix
  }

  private func cost(_ start: Int, _ end: Int) -> Int {
    var sum = 0
    for index in start..<end {
      sum +=
        isLeaf ? items[index].entryCost : index == start ? BuilderItem.firstChildCost : items[index].childCost
    }
    return sum
  }

  /// Of the node that the items `start ..< end` make, in bytes; an upper bound.
  func length(_ start: Int, _ end: Int) -> Int {
    let keys = isLeaf ? end - start : end - start - 1
    return NodeLayout.arrays + cost(start, end) - max(0, keys - 1) * prefix(start, end)
  }

  /// Where to cut all items into two nodes of about the same length.
  func evenCut(nodeSize: Int) -> Int {
    let half = cost(0, count) / 2
    var sum = 0
    var cut = 0
    while cut < count {
      let cost = isLeaf ? items[cut].entryCost : items[cut].childCost
      if sum + cost / 2 >= half { break }
      sum += cost
      cut += 1
    }
    let least = isLeaf ? 1 : 2
    guard count >= 2 * least else { return held }
    cut = min(max(cut, least), count - least)
    // Where the two parts share less than the two nodes did, a half can come out too long.
    let limit = { (number: Int) in number <= 3 ? NodeLayout.maximumLength : nodeSize }
    let fits = length(0, cut) <= limit(cut) && length(cut, count) <= limit(count - cut)
    return fits ? cut : held
  }
}
