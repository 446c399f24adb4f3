import LatewoodBytes
import LatewoodFile

/// One entry of a leaf, decoded in place.
package struct LeafCell {
  /// The key after the prefix of the node.
  package let suffix: UnsafeRawPointer
  package let suffixCount: Int
  package let value: BaseValue

  @inline(__always) init(at cell: UnsafeRawPointer) {
    let (keyLength, keyBytes) = Varint.readTrusted(cell)
    let (tagged, valueBytes) = Varint.readTrusted(cell + keyBytes)
    suffix = cell + (keyBytes &+ valueBytes)
    suffixCount = Node.keyLength(keyLength)
    value = BaseValue(
      pointer: suffix + suffixCount, length: Int(truncatingIfNeeded: tagged &>> 1),
      isExtent: tagged & 1 != 0)
  }
}

/// The entries of a leaf for use in a loop: reads the constant fields of the node once.
struct LeafEntries {
  private let base: UnsafeRawPointer
  private let slots: UnsafeRawPointer
  private let length: Int

  init(_ leaf: Node) {
    base = leaf.base
    slots = leaf.slots
    length = Int(leaf.length)
  }

  /// The entry at `index`, which must be in the leaf.
  @inline(__always) subscript(index: Int) -> LeafCell {
    LeafCell(at: base + min(Int(slots.u16(index &* NodeLayout.slotLength)), length))
  }

  /// The number of values in extents that are touched together.
  static let touchCount = 8

  /// Touches the values of entries that are in extents.
  @inline(never) func touchExtents(_ entries: Range<Int>, in file: FileView) {
    for index in entries {
      let value = self[index].value
      let place = UInt64(truncatingIfNeeded: value.pointer - file.base)
      if value.isExtent, place < file.limit &- 16 {
        file.touchExtent(value.extentOffset, value.length)
      }
    }
  }
}

/// A view of the validated bytes of a node.
///
/// ```
/// 0        40                                                                      length
/// | header | children (branch) | heads | slots | prefix | cells ...                     |
///            32 x count          4 x     2 x
/// ```
///
/// Invariants, which `NodeLoader` establishes before a view is created and on which everything here
/// relies:
/// 1. All arrays, the prefix, and every cell with its contents lie within the node.
/// 2. `count` is at least 1. Slot 0 of a branch is not used: its first child has no separator.
/// 3. Keys ascend strictly, and each head matches its key.
///
/// The system may evict a page and read it again after its node was verified, and the disk may then
/// return other bytes. This may cause wrong results or errors, but no access outside the file: the
/// source checks `fits` each time, a cell begins within the node, the rest of a key is shorter
/// than 32 KiB, and a value must end within the file.
///
/// A plain value of pointers: copying it does not count references. Its owner also keeps the
/// mapping that it points into.
// SAFETY: every load in this type is within the node by invariant 1, or, if the node has changed,
// within the file.
package struct Node {
  package let base: UnsafeRawPointer
  package let heads: UnsafeRawPointer
  package let count: Int
  package let prefixCount: Int

  @inline(__always) package init(validated base: UnsafeRawPointer) {
    self.base = base
    count = Int(base.u16(NodeLayout.count))
    prefixCount = Int(base.u16(NodeLayout.prefixLength))
    let children = base.u8(NodeLayout.level) > 0 ? count &* NodeLayout.childLength : 0
    heads = base + (NodeLayout.arrays &+ children)
  }

  /// Creates a leaf without entries, for a tree without nodes. `place` can be any address; it is
  /// not read.
  @inline(__always) init(emptyAt place: UnsafeRawPointer) {
    base = place
    heads = place
    count = 0
    prefixCount = 0
  }

  /// Whether header, arrays and prefix lie within `length` bytes.
  @inline(__always) func fits(in length: Int) -> Bool {
    let end = (heads - base) &+ count &* (NodeLayout.headLength &+ NodeLayout.slotLength) &+ prefixCount
    return count > 0 && end <= length
  }

  @inline(__always) package var level: UInt8 { base.u8(NodeLayout.level) }
  @inline(__always) package var isLeaf: Bool { level == 0 }
  @inline(__always) package var length: UInt32 { base.u32(NodeLayout.length) }
  @inline(__always) package var slots: UnsafeRawPointer { heads + count &* NodeLayout.headLength }
  @inline(__always) package var prefix: UnsafeRawPointer {
    heads + count &* (NodeLayout.headLength &+ NodeLayout.slotLength)
  }

  @inline(__always) package func head(_ index: Int) -> UInt32 { heads.u32(index &* NodeLayout.headLength) }

  @inline(__always) package func cell(_ index: Int) -> UnsafeRawPointer {
    base + min(Int(slots.u16(index &* NodeLayout.slotLength)), Int(length))
  }

  /// Truncates a key length from a cell to 15 bits. No key is longer than 16,388 bytes.
  @inline(__always) fileprivate static func keyLength(_ value: UInt64) -> Int {
    Int(truncatingIfNeeded: value & 0x7FFF)
  }

  /// Entry `index` of a leaf.
  @inline(__always) package func entry(_ index: Int) -> LeafCell { LeafCell(at: cell(index)) }

  /// Whether a value of this leaf is an extent.
  var hasExtents: Bool { (0..<count).contains { entry($0).value.isExtent } }

  /// Whether this leaf has the canonical form that the format requires but validation does not
  /// check: the longest prefix, and zeros in the reserved fields.
  var isCanonical: Bool {
    base.u16(NodeLayout.reserved) == 0 && base.u32(NodeLayout.reserved + 2) == 0
      && key(0).commonPrefix(key(count - 1)) == prefixCount
  }

  /// The key of entry `index` of a leaf, after the prefix.
  @inline(__always) package func entrySuffix(_ index: Int) -> (UnsafeRawPointer, Int) {
    let cell = cell(index)
    let (keyLength, keyBytes) = Varint.readTrusted(cell)
    let (_, valueBytes) = Varint.readTrusted(cell + keyBytes)
    return (cell + (keyBytes &+ valueBytes), Node.keyLength(keyLength))
  }

  /// The separator before child `index` of a branch, after the prefix; `index` is at least 1.
  @inline(__always) package func separatorSuffix(_ index: Int) -> (UnsafeRawPointer, Int) {
    let cell = cell(index)
    let (length, bytes) = Varint.readTrusted(cell)
    return (cell + bytes, Node.keyLength(length))
  }

  /// The key of entry `index` of a leaf.
  @inline(__always) package func key(_ index: Int) -> PrefixedKey {
    let (suffix, suffixCount) = entrySuffix(index)
    return PrefixedKey(prefix, prefixCount, suffix, suffixCount)
  }

  /// The separator before child `index` of a branch; `index` is at least 1.
  @inline(__always) package func separator(_ index: Int) -> PrefixedKey {
    let (suffix, suffixCount) = separatorSuffix(index)
    return PrefixedKey(prefix, prefixCount, suffix, suffixCount)
  }

  // MARK: Children of a branch

  @inline(__always) private func child(_ index: Int) -> UnsafeRawPointer {
    base + (NodeLayout.arrays &+ index &* NodeLayout.childLength)
  }
  @inline(__always) package func childReference(_ index: Int) -> NodeReference {
    let child = child(index)
    return NodeReference(
      offset: child.u64(NodeLayout.childOffset), length: child.u32(NodeLayout.childReferenceLength),
      checksum: child.u32(NodeLayout.childChecksum))
  }
  @inline(__always) package func childEntries(_ index: Int) -> UInt64 {
    child(index).u64(NodeLayout.childEntries)
  }
  @inline(__always) package func childLiveBytes(_ index: Int) -> UInt64 {
    child(index).u64(NodeLayout.childLiveBytes)
  }
  /// The subtree under child `index`.
  @inline(__always) package func childSubtree(_ index: Int) -> Subtree {
    Subtree(
      reference: childReference(index), level: level &- 1, entries: childEntries(index),
      liveBytes: childLiveBytes(index))
  }
}

// MARK: - Searching

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
    if ofLeaf { touchCell(low) }
    var high = low &+ 1
    if high < count, self.head(high) == head {
      // The search inside the run is binary, too, so that a node whose heads are all equal is not
      // searched linearly.
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

  /// Prefetches the two cache lines after the one in which a cell of a leaf begins, for callers
  /// that read the value.
  @inline(__always) private func touchCell(_ index: Int) {
    let slot = Int(slots.u16(index &* NodeLayout.slotLength))
    let last = Int(length) &- 1
    (base + min(slot &+ 64, last)).touch()
    (base + min(slot &+ 128, last)).touch()
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

/// The offsets of a node's fields, and its limits. On disk: FORMAT.md, section 8.
package enum NodeLayout {
  package static let checksum = 0
  package static let kind = 8
  package static let level = 9
  package static let count = 10
  package static let length = 12
  package static let ownOffset = 16
  package static let transaction = 24
  package static let prefixLength = 32
  package static let reserved = 34
  package static let arrays = 40

  package static let leafKind: UInt8 = 1
  package static let branchKind: UInt8 = 2

  package static let childOffset = 0
  package static let childReferenceLength = 8
  package static let childChecksum = 12
  package static let childEntries = 16
  package static let childLiveBytes = 24
  /// The length of one child in the array.
  package static let childLength = 32

  package static let headLength = 4
  package static let slotLength = 2
  package static let extentLength = 12
  package static let alignment = 64
  package static let maximumLength = 65535
  package static let maximumValueLength: UInt64 = 1 << 31
  /// The minimum length of a full key: its keyspace number and at least one byte.
  package static let minimumKeyLength = 5
  package static let maximumKeyLength = 16388
  /// The maximum number of levels of a tree. With nodes at multiples of 64 and three children per
  /// branch, no tree in a file of 256 TiB has more.
  package static let maximumLevels = 28
}
