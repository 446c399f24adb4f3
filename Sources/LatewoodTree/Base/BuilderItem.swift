import LatewoodBytes
import LatewoodFile

/// An item of a node under construction: an entry of a leaf, or a child of a branch. One type
/// serves all levels of the tree.
///
/// Key and value are not copied: the pointers must stay valid until the node is encoded.
struct BuilderItem {
  /// The key of the entry, or the separator before the child, which is empty for the first child of
  /// the tree.
  var key: PrefixedKey
  /// For an inline value its address, for an extent its offset in the file, for a child its real or
  /// provisional offset.
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
