import Synchronization

/// Samples the anonymous memory of this process every 20 ms, on a separate thread.
///
/// The resident set alone reveals little about an engine that maps its file, because it includes
/// the page cache. Memory that the process has allocated is unavailable to other programs.
final class MemorySampler: Sendable {
  private let peakKiB = Atomic<Int>(0)

  /// Starts sampling, until the end of the process.
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

  /// Resets the peak. Returns the current figure, in MiB.
  func restart() -> Double {
    peakKiB.store(0, ordering: .relaxed)
    return peakMiB
  }

  private func sample() {
    peakKiB.max(Int(Process.anonymousMiB * 1024), ordering: .relaxed)
  }
}
