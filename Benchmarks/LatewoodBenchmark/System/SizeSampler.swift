import Synchronization

/// Follows what a directory takes on the disk, and how large the largest of its files appears,
/// every 2 ms, on a thread of its own.
final class SizeSampler: Sendable {
  private let directory: Directory
  private let allocated = Atomic<UInt64>(0)
  private let apparent = Atomic<UInt64>(0)

  /// Starts sampling, to the end of the process.
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

  /// The greatest figures since the last call, in bytes.
  func take() -> (apparent: UInt64, allocated: UInt64) {
    sample()
    return (apparent.exchange(0, ordering: .relaxed), allocated.exchange(0, ordering: .relaxed))
  }

  private func sample() {
    allocated.max(directory.size.allocated, ordering: .relaxed)
    apparent.max(directory.largest, ordering: .relaxed)
  }
}
