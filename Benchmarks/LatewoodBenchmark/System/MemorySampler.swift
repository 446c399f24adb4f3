import Synchronization

/// Follows the memory of this process that belongs to no file, every 20 ms, on a thread of its own.
///
/// The resident set alone says little about an engine that maps its file: the page cache counts in
/// it. What the process has allocated is what other programs cannot have.
final class MemorySampler: Sendable {
  private let peakKiB = Atomic<Int>(0)

  /// Starts sampling, to the end of the process.
  static func start() -> MemorySampler {
    let sampler = MemorySampler()
    sampler.sample()
    Threads.startForever {
      while true {
        Process.sleep(seconds: 0.02)
        sampler.sample()
      }
    }
    return sampler
  }

  /// The greatest figure since the start or the last ``restart()``, in MiB.
  var peakMiB: Double {
    sample()
    return Double(peakKiB.load(ordering: .relaxed)) / 1024
  }

  /// Forgets the peak. Returns what there is now, in MiB.
  func restart() -> Double {
    peakKiB.store(0, ordering: .relaxed)
    return peakMiB
  }

  private func sample() {
    peakKiB.max(Int(Process.anonymousMiB * 1024), ordering: .relaxed)
  }
}
