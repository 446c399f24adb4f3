import LatewoodBytes
import LatewoodConcurrency

/// Limits a compaction to a number of bytes per second.
final class CompactionThrottle {
  private let bytesPerSecond: UInt64?
  private let start = MonotonicClock.nanoseconds
  private var bytes: UInt64 = 0

  init(bytesPerSecond: UInt64?) { self.bytesPerSecond = bytesPerSecond.map { max($0, 1) } }

  /// Waits until `count` more bytes may be written; throws `cancelled`.
  func pass(_ count: UInt64, _ control: CompactionControl) throws(StorageError) {
    guard let bytesPerSecond else { return }
    bytes += count
    while true {
      let due = Double(bytes) / Double(bytesPerSecond)
      let elapsed = Double(MonotonicClock.nanoseconds - start) / 1e9
      guard due > elapsed + 0.001 else { return }
      try control.rest(milliseconds: UInt64(min(due - elapsed, 0.1) * 1000) + 1)
    }
  }
}
