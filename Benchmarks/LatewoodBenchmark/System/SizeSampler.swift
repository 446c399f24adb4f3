import Synchronization

/// Samples the space that a directory takes on the disk, and the apparent size of its largest file,
/// every 2 ms on a separate thread.
final class SizeSampler: Sendable {
  private let directory: Directory
  private let allocated = Atomic<UInt64>(0)
  private let apparent = Atomic<UInt64>(0)

  /// Starts sampling, until the end of the process.
  static func start(_ directory: Directory) -> SizeSampler {
    let sampler = SizeSampler(directory)
    Threads.startForever {
      while true {
        sampler.sample()
        Process.sleep(seconds: 0.002)
      }
    }
    return sampler
  }

  private init(_ directory: Directory) { self.directory = directory }

  /// Returns the greatest figures since the last call, in bytes.
  func take() -> (apparent: UInt64, allocated: UInt64) {
    sample()
    return (apparent.exchange(0, ordering: .relaxed), allocated.exchange(0, ordering: .relaxed))
  }

  private func sample() {
    allocated.max(directory.size.allocated, ordering: .relaxed)
    apparent.max(directory.largest, ordering: .relaxed)
  }
}
