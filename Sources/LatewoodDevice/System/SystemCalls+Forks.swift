// Forks, after which a child has the descriptors of its parent.
import Synchronization

#if canImport(Glibc)
  @preconcurrency import Glibc
#elseif canImport(Musl)
  @preconcurrency import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension SystemCalls {
  private static let forks = Atomic<UInt64>(0)
  private static let watchesForks: Bool = {
    pthread_atfork(nil, nil, { SystemCalls.forks.add(1, ordering: .relaxed) }) == 0
  }()

  /// The number of forks between the first process that called this and this one, which differs
  /// between a parent and its child.
  ///
  /// Costs one load; getting the process number would cost a system call.
  static var forkGeneration: UInt64 {
    _ = watchesForks
    return forks.load(ordering: .relaxed)
  }
}
