/// The offsets of a file's fixed parts, and the size limits. All of it is on disk: FORMAT.md,
/// sections 1 and 10.
@usableFromInline package enum FileLayout {
  package static let headerLength = 4096
  package static let headerCopyOffset: UInt64 = 4096
  package static let slotBlockLength = 4096
  /// The offset of the first frame.
  @inlinable package static var logStart: UInt64 { 16384 }
  /// Frames start at multiples of this.
  package static let frameAlignment: UInt64 = 8
  /// Nodes start at multiples of this.
  package static let nodeAlignment: UInt64 = 64

  // Computed, so that other modules inline them as constants.
  @inlinable package static var keyLimit: Int { 16384 }
  /// The maximum length of a key prefixed with its keyspace number.
  @inlinable package static var fullKeyLimit: Int { keyLimit + 4 }
  /// The maximum length of a bound of a range, which may be the successor of the longest key.
  @inlinable package static var boundLimit: Int { fullKeyLimit + 1 }
  /// The maximum length of a value: more than an array can hold on a 32-bit platform.
  @inlinable package static var valueLimit: UInt64 { 2_147_483_648 }
  /// The maximum length of a value that fits into this platform's memory along with its key.
  @inlinable package static var valueLimitHere: UInt64 { min(valueLimit, UInt64(Int.max / 2)) }
  package static let keyspaceNameLimit = 1024
  package static let keyspaceLimit: UInt64 = 4_294_967_294
  package static let nodeLimit = 65535
  package static let fileLimit: UInt64 = 281_474_976_710_656

  package static func slotOffset(_ slot: Int) -> UInt64 { slot == 0 ? 8192 : 12288 }
}
