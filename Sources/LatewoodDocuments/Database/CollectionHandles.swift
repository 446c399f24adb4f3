import LatewoodConcurrency

/// The handles of collections that all users of an open database share, by name.
///
/// To look up a collection, first read `dropCount` and then pass it to `keep` with the new handle:
/// if a collection was dropped in between, the handle is not kept. Otherwise a stale handle could
/// block its name forever.
///
/// Thread safety: all calls from any thread.
final class CollectionHandles: Sendable {
  private struct State {
    var known: [String: CollectionHandle] = [:]
    var dropCount: UInt64 = 0
  }

  private let state = Guarded(State())

  subscript(name: String) -> CollectionHandle? { state.withLock { $0.known[name] } }

  /// The number of handles that are kept.
  var count: Int { state.withLock { $0.known.count } }

  /// The number of collections that have been dropped.
  var dropCount: UInt64 { state.withLock { $0.dropCount } }

  /// Keeps the handle of a collection that existed at a given drop count.
  ///
  /// - Returns: the handle to use, which may be an earlier one of the same collection; nil if a
  ///   collection was dropped since, and the caller must look it up again.
  func keep(_ collection: CollectionHandle, asOf dropCount: UInt64) -> CollectionHandle? {
    state.withLock { state in
      guard state.dropCount == dropCount else { return nil }
      if let known = state.known[collection.name], known.identity == collection.identity { return known }
      state.known[collection.name] = collection
      return collection
    }
  }

  /// Forgets a collection that has been dropped.
  func forget(_ collection: CollectionHandle) {
    state.withLock { state in
      state.dropCount += 1
      if state.known[collection.name]?.identity == collection.identity { state.known[collection.name] = nil }
    }
  }
}
