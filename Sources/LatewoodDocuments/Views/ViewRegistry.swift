import LatewoodConcurrency

/// The views that this process has registered for an open database.
///
/// Thread safety: all methods may be called from any thread.
final class ViewRegistry: Sendable {
  private let known = Guarded<[CollectionIdentity: [String: ViewDefinition]]>([:])

  /// Registers a view, replacing an earlier one with its name.
  func register(_ view: ViewDefinition, of collection: CollectionIdentity) {
    // An earlier definition has a closure of the caller, which must be released outside the lock.
    _ = known.withLock { $0[collection, default: [:]].updateValue(view, forKey: view.name) }
  }

  func forget(_ name: String, of collection: CollectionIdentity) {
    _ = known.withLock { $0[collection]?.removeValue(forKey: name) }
  }

  func forget(_ collection: CollectionIdentity) {
    _ = known.withLock { $0.removeValue(forKey: collection) }
  }

  func view(_ name: String, of collection: CollectionIdentity) -> ViewDefinition? {
    known.withLock { $0[collection]?[name] }
  }
}
