import LatewoodBytes
import LatewoodFile

/// Where the fields of a node lie. On disk: FORMAT.md, section 8.
enum NodeLayout {
  static let checksum = 0
  static let kind = 8
  static let level = 9
  static let count = 10
  static let length = 12
  static let ownOffset = 16
  static let transaction = 24
  static let prefixLength = 32
  static let reserved = 34
  static let arrays = 40

  static let leafKind: UInt8 = 1
  static let branchKind: UInt8 = 2

  static let childOffset = 0
  static let childReferenceLength = 8
  static let childChecksum = 12
  static let childEntries = 16
  static let childLiveBytes = 24
  /// Of one child in the array.
  static let childLength = 32

  static let headLength = 4
  static let slotLength = 2
  static let extentLength = 12
  static let alignment = 64
  static let maximumLength = 65535
  static let maximumValueLength: UInt64 = 1 << 31
  /// Of a full key: the number of its keyspace and at least one byte.
  static let minimumKeyLength = 5
  static let maximumKeyLength = 16388
  /// Nodes at multiples of 64, three children to a branch: no tree in a file of 256 TiB is higher.
  static let maximumLevels = 28
  /// The first byte of a file that is not header or root slot.
  static let firstFrame: UInt64 = 16384
}

/// The value of an entry in the base tree.
struct BaseValue {
  /// The value; of an extent, its offset (8 bytes) and checksum (4 bytes) in the leaf.
  let pointer: UnsafeRawPointer
  /// Of the value in bytes, wherever it lies.
  let length: Int
  let isExtent: Bool

  @inline(__always) var extentOffset: UInt64 { pointer.u64(0) }
  @inline(__always) var extentChecksum: UInt32 { pointer.u32(8) }

  /// The bytes of the value; an extent is checked the first time this process touches it.
  @inline(__always) func bytes(in file: FileView) throws(Fault) -> UnsafeRawBufferPointer {
    if !isExtent { return UnsafeRawBufferPointer(start: pointer, count: length) }
    return try file.extent(offset: extentOffset, length: UInt64(length), checksum: extentChecksum)
  }

  /// Whether both are the same value in the same place: the same inline bytes, or the same extent.
  func isSame(_ other: BaseValue) -> Bool {
    guard isExtent == other.isExtent, length == other.length else { return false }
    return KeyOrder.isEqual(pointer, other.pointer, isExtent ? NodeLayout.extentLength : length)
  }
}

/// One entry of a leaf, decoded where it lies.
struct LeafCell {
  /// The key after the prefix of the node.
  let suffix: UnsafeRawPointer
  let suffixCount: Int
  let value: BaseValue
}

/// A view over the bytes of a node that were validated.
///
/// ```
/// 0        40                                                                      length
/// | header | children (branch) | heads | slots | prefix | cells ...                     |
///            32 x count          4 x     2 x
/// ```
///
/// Invariants, established by `NodeSource` before a view is made and relied on by everything here:
/// 1. All arrays, the prefix, every cell and what is in it lie within the node.
/// 2. `count` is at least 1. Slot 0 of a branch is not used: its first child has no separator.
/// 3. Keys ascend strictly, and each head is that of its key.
///
/// A plain value of pointers: copying it counts no references. Whoever holds it also holds the mapping it points into.
// SAFETY: every load in this type is within the node by invariant 1.
struct Node {
  let base: UnsafeRawPointer
  let heads: UnsafeRawPointer
  let count: Int
  let prefixCount: Int

  @inline(__always) init(validated base: UnsafeRawPointer) {
    self.base = base
    count = Int(base.u16(NodeLayout.count))
    prefixCount = Int(base.u16(NodeLayout.prefixLength))
    let children = base.u8(NodeLayout.kind) == NodeLayout.branchKind ? count &* NodeLayout.childLength : 0
    heads = base + (NodeLayout.arrays &+ children)
  }

  /// A leaf without entries, for a tree without nodes. `place` is any address; it is not read.
  @inline(__always) init(emptyAt place: UnsafeRawPointer) {
    base = place
    heads = place
    count = 0
    prefixCount = 0
  }

  @inline(__always) var level: UInt8 { base.u8(NodeLayout.level) }
  @inline(__always) var isLeaf: Bool { level == 0 }
  @inline(__always) var length: UInt32 { base.u32(NodeLayout.length) }
  @inline(__always) var slots: UnsafeRawPointer { heads + count &* NodeLayout.headLength }
  @inline(__always) var prefix: UnsafeRawPointer {
    heads + count &* (NodeLayout.headLength &+ NodeLayout.slotLength)
  }

  @inline(__always) func head(_ index: Int) -> UInt32 { heads.u32(index &* NodeLayout.headLength) }

  @inline(__always) func cell(_ index: Int) -> UnsafeRawPointer {
    base + Int(slots.u16(index &* NodeLayout.slotLength))
  }

  /// Entry `index` of a leaf.
  @inline(__always) func entry(_ index: Int) -> LeafCell {
    let cell = cell(index)
    let (keyLength, keyBytes) = Varint.readTrusted(cell)
    let (tagged, valueBytes) = Varint.readTrusted(cell + keyBytes)
    let suffix = cell + (keyBytes &+ valueBytes)
    let suffixCount = Int(truncatingIfNeeded: keyLength)
    return LeafCell(
      suffix: suffix, suffixCount: suffixCount,
      value: BaseValue(
        pointer: suffix + suffixCount, length: Int(truncatingIfNeeded: tagged &>> 1),
        isExtent: tagged & 1 != 0))
  }

  /// The key of entry `index` of a leaf, after the prefix.
  @inline(__always) func entrySuffix(_ index: Int) -> (UnsafeRawPointer, Int) {
    let cell = cell(index)
    let (keyLength, keyBytes) = Varint.readTrusted(cell)
    let (_, valueBytes) = Varint.readTrusted(cell + keyBytes)
    return (cell + (keyBytes &+ valueBytes), Int(truncatingIfNeeded: keyLength))
  }

  /// The separator before child `index` of a branch, after the prefix; `index` is at least 1.
  @inline(__always) func separatorSuffix(_ index: Int) -> (UnsafeRawPointer, Int) {
    let cell = cell(index)
    let (length, bytes) = Varint.readTrusted(cell)
    return (cell + bytes, Int(truncatingIfNeeded: length))
  }

  /// The key of entry `index` of a leaf.
  @inline(__always) func key(_ index: Int) -> SplitKey {
    let (suffix, suffixCount) = entrySuffix(index)
    return SplitKey(prefix, prefixCount, suffix, suffixCount)
  }

  /// The separator before child `index` of a branch; `index` is at least 1.
  @inline(__always) func separator(_ index: Int) -> SplitKey {
    let (suffix, suffixCount) = separatorSuffix(index)
    return SplitKey(prefix, prefixCount, suffix, suffixCount)
  }

  // MARK: Children of a branch

  @inline(__always) private func child(_ index: Int) -> UnsafeRawPointer {
    base + (NodeLayout.arrays &+ index &* NodeLayout.childLength)
  }
  @inline(__always) func childReference(_ index: Int) -> NodeReference {
    let child = child(index)
    return NodeReference(
      offset: child.u64(NodeLayout.childOffset), length: child.u32(NodeLayout.childReferenceLength),
      checksum: child.u32(NodeLayout.childChecksum))
  }
  @inline(__always) func childEntries(_ index: Int) -> UInt64 { child(index).u64(NodeLayout.childEntries) }
  @inline(__always) func childLiveBytes(_ index: Int) -> UInt64 {
    child(index).u64(NodeLayout.childLiveBytes)
  }
  /// Child `index` and what lies under it.
  @inline(__always) func childSubtree(_ index: Int) -> Subtree {
    Subtree(
      reference: childReference(index), level: level &- 1, entries: childEntries(index),
      liveBytes: childLiveBytes(index))
  }
}
