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
