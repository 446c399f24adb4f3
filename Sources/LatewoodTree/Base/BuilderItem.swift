import LatewoodBytes
import LatewoodFile

/// What a node under construction will hold: an entry of a leaf, or a child of a branch. One type
/// for both, so that one kind of level serves the whole height of the tree.
///
/// Nothing is copied: the pointers lead to where the key and value lie until the node is made.
struct BuilderItem {
  /// The key of the entry; the separator before the child, which is empty for the first child of
  /// the tree.
  var key: SplitKey
  /// Inline value: its address. Extent: its offset in the file. Child: its offset, real or
  /// provisional.
  var word: UInt64
  /// Of the value, or of the child node.
  var length: UInt32
  /// Of an extent or a child.
  var checksum: UInt32
  /// Under the child. Of an entry, 1 if its value is an extent and 0 if not.
  var entries: UInt64
  var liveBytes: UInt64 = 0
  /// Bytes that the key has in common with that of the item before it in the level.
  var shared = 0

  @inline(__always) init(_ key: SplitKey, inline value: UnsafeRawPointer, _ length: Int) {
    self.key = key
    word = UInt64(UInt(bitPattern: value))
    self.length = UInt32(truncatingIfNeeded: length)
    checksum = 0
    entries = 0
  }

  @inline(__always) init(_ key: SplitKey, extent offset: UInt64, length: UInt64, checksum: UInt32) {
    self.key = key
    word = offset
    self.length = UInt32(truncatingIfNeeded: length)
    self.checksum = checksum
    entries = 1
  }

  init(_ separator: SplitKey, child: Subtree) {
    key = separator
    word = child.reference.offset
    length = child.reference.length
    checksum = child.reference.checksum
    entries = child.entries
    liveBytes = child.liveBytes
  }

  // MARK: As an entry

  @inline(__always) var isExtent: Bool { entries != 0 }
  /// What stands before the key in the leaf.
  @inline(__always) var taggedLength: UInt64 { UInt64(length) &<< 1 | entries }
  @inline(__always) var valueBytes: Int { isExtent ? NodeLayout.extentLength : Int(length) }
  /// Bytes in a leaf whose prefix is empty, with its head and slot. An upper bound where a prefix
  /// shortens the number.
  @inline(__always) var entryCost: Int {
    NodeLayout.headLength &+ NodeLayout.slotLength &+ Varint.length(UInt64(key.count))
      &+ Varint.length(taggedLength) &+ key.count &+ valueBytes
  }

  // MARK: As a child

  static let firstChildCost = NodeLayout.childLength + NodeLayout.headLength + NodeLayout.slotLength
  /// Bytes in a branch whose prefix is empty. The first child of a branch has no separator:
  /// `firstChildCost`.
  @inline(__always) var childCost: Int {
    BuilderItem.firstChildCost &+ Varint.length(UInt64(key.count)) &+ key.count
  }

  /// `level` is that of the child.
  func subtree(level: UInt8) -> Subtree {
    Subtree(
      reference: NodeReference(offset: word, length: length, checksum: checksum), level: level,
      entries: entries, liveBytes: liveBytes)
  }
}
