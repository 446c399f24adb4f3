import LatewoodBytes
import LatewoodFile

/// Looks up successive keys of a view. A key in the same base tree leaf as the previous one is
/// found without a descent from the root.
///
/// The owner keeps the version of the view alive. It cannot be used for views whose memory may be
/// evicted between lookups: see `ReadView.isBuffered`.
package struct NearbyFinder {
  private let view: ReadView
  /// The leaf of the last lookup; an empty one at first.
  private var leaf: Node

  package init(_ view: ReadView) {
    self.view = view
    leaf = Node(emptyAt: view.base.source.file.base)
  }

  /// Returns the value of a full key, or nil. O(log n). The bytes are valid as long as the version.
  package mutating func find(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(StorageError) -> UnsafeRawBufferPointer? {
    let view = view
    return try view.find(key, keyCount) { () throws(StorageError) in try findInBase(key, keyCount) }
  }

  private mutating func findInBase(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(StorageError) -> BaseValue? {
    let (near, isNear) = leaf.lowerBound(key, keyCount)
    if isNear { return leaf.entry(near).value }
    // Two adjacent keys of the leaf have no key between them.
    if near > 0, near < leaf.count { return nil }
    guard let found = try view.base.leaf(for: key, keyCount) else { return nil }
    leaf = found
    let (index, isFound) = found.lowerBound(key, keyCount)
    return isFound ? found.entry(index).value : nil
  }
}
