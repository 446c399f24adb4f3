import LatewoodDevice

/// The handles of collections that all users of an open database share, by name.
///
/// Whoever looks a collection up asks for `dropCount` first, and hands in with the handle what it
/// was: a handle of a collection that was dropped in between is not kept, or its name could never
/// be used again.
///
/// Thread safety: all calls from any thread.
final class CollectionHandles: Sendable {
  private struct State {
    var known: [String: DocumentCollection] = [:]
    var dropCount: UInt64 = 0
  }

  private let state = Guarded(State())

  subscript(name: String) -> DocumentCollection? { state.withLock { $0.known[name] } }

  var all: [DocumentCollection] { state.withLock { Array($0.known.values) } }

  /// How many collections have been dropped.
  var dropCount: UInt64 { state.withLock { $0.dropCount } }

  /// Keeps the handle of a collection that was there at a drop count.
  ///
  /// - Returns: the handle to be used, which may be another one of the same collection; nil if one
  ///   was dropped since: then look again.
  func keep(_ collection: DocumentCollection, asOf dropCount: UInt64) -> DocumentCollection? {
    state.withLock { state in
      guard state.dropCount == dropCount else { return nil }
      if let known = state.known[collection.name], known.identity == collection.identity { return known }
      state.known[collection.name] = collection
      return collection
    }
  }

  /// Forgets a collection that has been dropped.
  ///
  /// - Returns: the handles of all others.
  func forget(_ collection: DocumentCollection) -> [DocumentCollection] {
    state.withLock { state in
      state.dropCount += 1
      if state.known[collection.name]?.identity == collection.identity { state.known[collection.name] = nil }
      return Array(state.known.values)
    }
  }
}
