import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// A frequent, cheap check that the database file is still at its path.
///
/// Looking up the path takes 3 to 8 µs, too long for each synchronous commit of about 100 µs.
/// Therefore a commit within `interval` of the last lookup relies on that lookup.
///
/// Thread safety: all calls from any thread.
final class PathCheck: Sendable {
  private let device: any Device
  private let clock: @Sendable () -> UInt64
  /// The time of the last lookup of the path; 0 before the first.
  private let lastLookup = Atomic<UInt64>(0)
  private let isReplaced = Atomic<Bool>(false)

  /// The time for which a lookup of the path is trusted, in nanoseconds.
  static let interval: UInt64 = 2_000_000

  /// - Parameter clock: a monotonic clock, in nanoseconds.
  init(_ device: any Device, clock: @escaping @Sendable () -> UInt64 = { MonotonicClock.nanoseconds }) {
    self.device = device
    self.clock = clock
  }

  /// Sets whether a compaction of this process is replacing the file, or has replaced it. In this
  /// case the file is not lost.
  func setReplaced(_ isReplaced: Bool) {
    self.isReplaced.store(isReplaced, ordering: .sequentiallyConsistent)
  }

  /// Returns whether the file was removed, renamed or replaced by someone else.
  func isLost() throws(StorageError) -> Bool {
    lastLookup.store(clock(), ordering: .relaxed)
    guard try device.pathStatus() == .lost else { return false }
    // The flag is read after the lookup, because it is set before the file leaves its path.
    return !isReplaced.load(ordering: .sequentiallyConsistent)
  }

  /// Like `isLost`, but returns false if the last lookup was less than `interval` ago.
  func isKnownLost() throws(StorageError) -> Bool {
    let last = lastLookup.load(ordering: .relaxed)
    return last == 0 || clock() >= last + PathCheck.interval ? try isLost() : false
  }
}
