import LatewoodBytes
import LatewoodFile

/// Looks up a key in one version of the write buffer's tree.
enum BufferLookup {
  /// Returns a key's reference and its record, verified against the tag.
  @inline(__always) static func entry(
    _ root: UnsafeMutableRawPointer, _ key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (reference: RecordReference, record: LogRecord)? {
    var node = BufferNode(root)
    while node.isBranch { node = node.child(try node.childIndex(key, keyCount, space)) }
    let (index, found) = try node.position(of: key, keyCount, space)
    guard let found else { return nil }
    let reference = node.reference(index)
    try space.verify(found, reference)
    return (reference, found)
  }

  /// Returns a key's reference.
  static func find(
    _ root: UnsafeMutableRawPointer, _ key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> RecordReference? {
    try entry(root, key, keyCount, space)?.reference
  }
}
