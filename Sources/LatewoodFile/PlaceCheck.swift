import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// Finds out whether the database file is still at its path, often but cheaply.
///
/// Looking the path up takes 3 to 8 µs, too long for each synchronous commit of some 100 µs. So a
/// commit that follows another within `interval` relies on the last lookup.
///
/// Thread safety: all calls from any thread.
final class PlaceCheck: Sendable {
  private let device: any Device
  private let clock: @Sendable () -> UInt64
  /// The time of the last lookup of the path; 0 before the first.
  private let lastLookup = Atomic<UInt64>(0)

  /// The time for which a lookup of the path is relied upon, in nanoseconds.
  static let interval: UInt64 = 2_000_000

  /// - Parameter clock: the time in nanoseconds, which only goes forward.
  init(_ device: any Device, clock: @escaping @Sendable () -> UInt64 = { MonotonicClock.nanoseconds }) {
    self.device = device
    self.clock = clock
  }

  /// Whether the file was removed, renamed or replaced.
  func isLost() throws(Fault) -> Bool {
    lastLookup.store(clock(), ordering: .relaxed)
    return try device.place() == .lost
  }

  /// As `isLost`, but false if the last lookup was less than `interval` ago.
  func isKnownLost() throws(Fault) -> Bool {
    let last = lastLookup.load(ordering: .relaxed)
    return last == 0 || clock() >= last + PlaceCheck.interval ? try isLost() : false
  }
}
