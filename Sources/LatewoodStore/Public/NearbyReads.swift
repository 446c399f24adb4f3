import LatewoodBytes
import LatewoodTree

/// Looks up keys of one keyspace in a pinned state, one after the other: faster than single reads
/// if the keys are near each other. Not thread-safe.
package struct NearbyReads {
  private let state: PinnedState
  private let keyspace: UInt32
  private var finder: NearbyFinder

  /// Creates a lookup. Returns nil if the file of the state is read through a cache, which may
  /// release the memory of earlier results.
  package init?(_ state: PinnedState, in keyspace: Keyspace) throws(StoreError) {
    guard let view = try state.view(of: keyspace) else { return nil }
    self.state = state
    self.keyspace = keyspace.id
    finder = NearbyFinder(view)
  }

  /// Returns the value of a key, or nil. The bytes are valid as long as the state. O(log n).
  package mutating func find(_ key: UnsafeRawBufferPointer) throws(StoreError) -> UnsafeRawBufferPointer? {
    do throws(StorageError) {
      return try FullKey.with(keyspace, key) { (full, count) throws(StorageError) in
        try finder.find(full, count)
      }
    } catch { throw StoreError(error, path: state.path) }
  }
}
