import LatewoodBytes
import LatewoodFile

/// The items of one level of a tree under construction that are not yet in nodes.
///
/// ```
/// items   0 ..< held        the items of a full node, held back so that it can be balanced with
///                           the next one
///         held ..< count    the current node, being filled
/// ```
///
/// Invariants:
/// 1. Keys ascend strictly; `shared` of every item except the first is the length of the prefix
///    that the item shares with the previous one.
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
  /// The length of the longest common prefix of the current items' keys, in a branch without the
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

  /// Holds back the current node, which is complete. The previously held node has been written.
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
  private mutating func recount() {
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

  private func cost(_ start: Int, _ end: Int) -> Int {
    var sum = 0
    for index in start..<end {
      sum +=
        isLeaf ? items[index].entryCost : index == start ? BuilderItem.firstChildCost : items[index].childCost
    }
    return sum
  }

  /// An upper bound of the length, in bytes, of a node of the items `start ..< end`.
  private func length(_ start: Int, _ end: Int) -> Int {
    let keys = isLeaf ? end - start : end - start - 1
    return NodeLayout.arrays + cost(start, end) - max(0, keys - 1) * prefix(start, end)
  }

  // MARK: Dividing

  /// Whether there are too few items for a node.
  func isUnderfull(nodeSize: Int) -> Bool {
    count > 0 && held == 0
      && (NodeSplit.isTooShort(currentLength, nodeSize: nodeSize) || (!isLeaf && count < 2))
  }

  /// Returns the index at which to divide all items into two nodes of similar length.
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
    // With a shorter common prefix than before, a part can be too long.
    let limit = { (number: Int) in number <= NodeSplit.leastItems ? NodeLayout.maximumLength : nodeSize }
    let fits = length(0, cut) <= limit(cut) && length(cut, count) <= limit(count - cut)
    return fits ? cut : held
  }
}

/// An item of a node under construction: an entry of a leaf, or a child of a branch. One type
/// serves all levels of the tree.
///
/// Key and value are not copied: the pointers must stay valid until the node is encoded.
struct BuilderItem {
  /// The key of the entry, or the separator before the child, which is empty for the first child of
  /// the tree.
  var key: PrefixedKey
  /// The address of an inline value, the file offset of an extent, or the real or provisional
  /// offset of a child.
  var word: UInt64
  /// The length of the value or of the child node.
  var length: UInt32
  /// The checksum of an extent or a child.
  var checksum: UInt32
  /// For a child, the number of entries under it. For an entry, 1 if its value is an extent,
  /// otherwise 0.
  var entries: UInt64
  var liveBytes: UInt64 = 0
  /// The length of the prefix that the key shares with the previous item in the level.
  var shared = 0

  @inline(__always) init(_ key: PrefixedKey, inline value: UnsafeRawPointer, _ length: Int) {
    self.key = key
    word = UInt64(UInt(bitPattern: value))
    self.length = UInt32(truncatingIfNeeded: length)
    checksum = 0
    entries = 0
  }

  @inline(__always) init(_ key: PrefixedKey, extent offset: UInt64, length: UInt64, checksum: UInt32) {
    self.key = key
    word = offset
    self.length = UInt32(truncatingIfNeeded: length)
    self.checksum = checksum
    entries = 1
  }

  init(_ separator: PrefixedKey, child: Subtree) {
    key = separator
    word = child.reference.offset
    length = child.reference.length
    checksum = child.reference.checksum
    entries = child.entries
    liveBytes = child.liveBytes
  }

  // MARK: As an entry

  @inline(__always) var isExtent: Bool { entries != 0 }
  /// The tagged length of the value, which precedes the key in the leaf.
  @inline(__always) var taggedLength: UInt64 { UInt64(length) &<< 1 | entries }
  @inline(__always) var valueBytes: Int { isExtent ? NodeLayout.extentLength : Int(length) }
  /// The number of bytes in a leaf without a prefix, including head and slot. An upper bound,
  /// because a prefix may shorten the key's length field.
  @inline(__always) var entryCost: Int {
    NodeLayout.headLength &+ NodeLayout.slotLength &+ Varint.length(UInt64(key.count))
      &+ Varint.length(taggedLength) &+ key.count &+ valueBytes
  }

  // MARK: As a child

  static let firstChildCost = NodeLayout.childLength + NodeLayout.headLength + NodeLayout.slotLength
  /// The number of bytes in a branch without a prefix. The first child of a branch has no separator
  /// and costs `firstChildCost`.
  @inline(__always) var childCost: Int {
    BuilderItem.firstChildCost &+ Varint.length(UInt64(key.count)) &+ key.count
  }

  /// The child as a subtree at the given level.
  func subtree(level: UInt8) -> Subtree {
    Subtree(
      reference: NodeReference(offset: word, length: length, checksum: checksum), level: level,
      entries: entries, liveBytes: liveBytes)
  }
}

/// The left neighbour of the next leaf, which determines that leaf's separator.
enum LeftNeighbour {
  case none
  /// The last key before the leaf.
  case key(PrefixedKey)
  /// A bound that is greater than all keys before the leaf and not greater than any key of the
  /// leaf.
  case fence(PrefixedKey)
  /// A subtree whose last key has not been read yet.
  case subtree(Subtree)
  /// The separator of an older leaf with the same start, which is kept.
  case kept(PrefixedKey)

  /// Returns the shortest prefix of `first` that separates it from the left neighbour.
  func separator(before first: PrefixedKey, source: NodeLoader) throws(StorageError) -> PrefixedKey {
    switch self {
    case .none: return first.prefix(0)
    case .kept(let separator): return separator
    case .key(let last): return first.prefix(min(first.commonPrefix(last) + 1, first.count))
    case .fence(let fence):
      let common = first.commonPrefix(fence)
      return first.prefix(common == fence.count ? common : min(common + 1, first.count))
    case .subtree(let subtree):
      var node = try source.root(subtree)
      while !node.isLeaf {
        node = try source.root(node.childSubtree(node.count - 1))
      }
      return try LeftNeighbour.key(node.key(node.count - 1)).separator(before: first, source: source)
    }
  }
}
