import LatewoodBytes

/// The position of a node in the file, and the part of its checksum that identifies it.
@usableFromInline package struct NodeReference: Sendable, Equatable {
  @usableFromInline package var offset: UInt64
  /// The length of the node, in bytes.
  @usableFromInline package var length: UInt32
  /// The low 32 bits of the node's checksum.
  @usableFromInline package var checksum: UInt32

  @inlinable package init(offset: UInt64, length: UInt32, checksum: UInt32) {
    self.offset = offset
    self.length = length
    self.checksum = checksum
  }

  /// Whether the node may be read in place: it lies within the first `limit` bytes of the file,
  /// after the root slots, at a multiple of 64, and is long enough for the fields that a reference
  /// repeats. Its greatest length is checked with its structure.
  @inlinable @inline(__always) package func isWithin(_ limit: UInt64) -> Bool {
    let count = UInt64(length)
    // 48 bytes: the header and at least one cell.
    return count >= 48 && count <= limit && offset <= limit &- count && offset >= FileLayout.logStart
      && offset & 63 == 0
  }

  /// Throws `damaged` unless the node may be copied: ``isWithin(_:)`` holds, and it is not longer
  /// than a node can be.
  package func check(within limit: UInt64) throws(StorageError) {
    guard length <= FileLayout.nodeLimit, isWithin(limit) else { throw outside }
  }

  /// The error for a reference that cannot be followed.
  @inline(never) package var outside: StorageError {
    StorageError.damaged(
      at: offset,
      length < 48 || length > FileLayout.nodeLimit
        ? "a node's length is not between 48 and 65,535 bytes"
        : "a node does not lie within the file at a multiple of 64")
  }
}

/// The position of a value in a commit frame, to which a leaf refers, and its checksum.
@usableFromInline package struct ExtentReference: Sendable, Equatable {
  @usableFromInline package var offset: UInt64
  /// The length of the value, in bytes.
  @usableFromInline package var length: UInt64
  /// The low 32 bits of the value's checksum.
  @usableFromInline package var checksum: UInt32

  @inlinable @inline(__always) package init(offset: UInt64, length: UInt64, checksum: UInt32) {
    self.offset = offset
    self.length = length
    self.checksum = checksum
  }

  /// Whether the value lies within the first `limit` bytes of the file, after the root slots.
  @inlinable @inline(__always) package func isWithin(_ limit: UInt64) -> Bool {
    length <= limit && offset <= limit &- length && offset >= FileLayout.logStart
  }

  /// Throws `damaged` unless ``isWithin(_:)`` holds.
  package func check(within limit: UInt64) throws(StorageError) {
    guard isWithin(limit) else { throw outside }
  }

  /// The error for a value that does not lie within the file.
  @usableFromInline @inline(never) package var outside: StorageError {
    StorageError.damaged(at: offset, "a value's extent does not lie within the file")
  }

  /// The error for a value with another checksum.
  package var mismatch: StorageError {
    StorageError.damaged(at: offset, "a value does not match its checksum")
  }
}
