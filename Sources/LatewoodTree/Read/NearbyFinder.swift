import LatewoodBytes
import LatewoodFile

/// Looks up keys of a view one after the other. A key in the same leaf of the base tree as the one
/// before is found without a descent from the root.
///
/// The owner keeps the version of the view. Not for views of which memory may be released while it
/// is kept: see `ReadView.isBuffered`.
package struct NearbyFinder {
  private let view: ReadView
  /// The leaf in which the last key was looked for; an empty one at first.
  private var leaf: Node

  package init(_ view: ReadView) {
    self.view = view
    leaf = Node(emptyAt: view.base.source.file.base)
  }

  /// The value of a full key, or nil. O(log n). The bytes live as long as the version.
  package mutating func find(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(Fault) -> UnsafeRawBufferPointer? {
    let view = view
    return try view.find(key, keyCount) { () throws(Fault) in try findInBase(key, keyCount) }
  }

  private mutating func findInBase(
    _ key: UnsafeRawPointer, _ keyCount: Int
  ) throws(Fault) -> BaseValue? {
    let (near, isNear) = leaf.lowerBound(key, keyCount)
    if isNear { return leaf.entry(near).value }
    // Between two keys of the leaf there is no other.
    if near > 0, near < leaf.count { return nil }
    guard let found = try view.base.leaf(for: key, keyCount) else { return nil }
    leaf = found
    let (index, isFound) = found.lowerBound(key, keyCount)
    return isFound ? found.entry(index).value : nil
  }
}
