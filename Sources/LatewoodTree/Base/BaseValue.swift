import LatewoodBytes
import LatewoodFile

/// The value of an entry in the base tree.
package struct BaseValue {
  /// The address of the value or, for an extent, of its offset (8 bytes) and checksum (4 bytes) in
  /// the leaf.
  package let pointer: UnsafeRawPointer
  /// The length of the value in bytes, inline or in an extent.
  package let length: Int
  package let isExtent: Bool

  @inline(__always) package var extentOffset: UInt64 { pointer.u64(0) }
  @inline(__always) package var extentChecksum: UInt32 { pointer.u32(8) }

  /// The reference to an extent.
  @inline(__always) package var extent: ExtentReference {
    ExtentReference(
      offset: extentOffset, length: UInt64(truncatingIfNeeded: length), checksum: extentChecksum)
  }

  /// Returns the bytes of the value. An extent is verified the first time this process reads it.
  ///
  /// Throws `damaged` if they lie outside the file: a node may change after it was verified.
  @inline(__always) package func bytes(in file: FileView) throws(StorageError) -> UnsafeRawBufferPointer {
    // Signed arithmetic, so that nothing fits after the end. Lengths are not negative, and limits
    // are far below 2^63.
    let available = Int(truncatingIfNeeded: file.limit) &- (pointer - file.base)
    if !isExtent {
      guard length <= available else { throw BaseValue.outside }
      return UnsafeRawBufferPointer(start: pointer, count: length)
    }
    return try extent(in: file, available)
  }

  @inline(never) private func extent(
    in file: FileView, _ available: Int
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    guard NodeLayout.extentLength <= available else { throw BaseValue.outside }
    return try file.extent(offset: extentOffset, length: UInt64(length), checksum: extentChecksum)
  }

  @inline(never) private static var outside: StorageError {
    StorageError(
      .damaged, "a value in a node lies outside the file: the node has changed since it was verified")
  }

  /// Returns whether both are the same value: equal inline bytes, or the same extent.
  package func isSame(_ other: BaseValue) -> Bool {
    guard isExtent == other.isExtent, length == other.length else { return false }
    return KeyOrder.isEqual(pointer, other.pointer, isExtent ? NodeLayout.extentLength : length)
  }
}
