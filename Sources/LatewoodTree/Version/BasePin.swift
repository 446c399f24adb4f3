import LatewoodConcurrency

/// A pin that keeps the blocks of one base tree, and of the log after its checkpoint, from being
/// reclaimed.
///
/// All versions over one base share a pin. Version numbers would not suffice: a checkpoint's swap
/// creates a version with the same number over another base.
package final class BasePin: Sendable {
  /// The number of base trees before this one since the store was opened.
  package let epoch: UInt64
  private let registry: BasePinRegistry

  package init(epoch: UInt64, registry: BasePinRegistry) {
    self.epoch = epoch
    self.registry = registry
    registry.add(epoch)
  }

  deinit { registry.remove(epoch) }
}

/// The pinned base trees.
///
/// Thread safety: any thread.
package final class BasePinRegistry: Sendable {
  private let counts = Guarded<[UInt64: Int]>([:])

  package init() {}

  fileprivate func add(_ epoch: UInt64) { counts.withLock { $0[epoch, default: 0] += 1 } }

  fileprivate func remove(_ epoch: UInt64) {
    counts.withLock { counts in
      guard let count = counts[epoch] else { return }
      counts[epoch] = count > 1 ? count - 1 : nil
    }
  }

  /// The epoch of the oldest pinned base tree; nil if there is none.
  package var oldest: UInt64? { counts.withLock { $0.keys.min() } }
}
