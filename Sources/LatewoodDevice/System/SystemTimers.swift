import Dispatch
import LatewoodBytes
import LatewoodConcurrency

/// Prepares the timers of Dispatch.
package enum SystemTimers {
  private static let isReady = Guarded(false)

  /// Ensures that timers work. Only the first call in a process has an effect; it takes about a
  /// millisecond.
  ///
  /// On Linux, Dispatch opens descriptors for the first timer of each clock, and ends the process
  /// if there are none left. Therefore the first timers are set here, after a check that
  /// descriptors are available.
  ///
  /// Throws `inputOutput` if too many files are open.
  package static func prepare() throws(StorageError) {
    #if os(Linux)
      try isReady.withLock { isReady throws(StorageError) in
        if isReady { return }
        do throws(ErrorNumber) {
          try SystemCalls.checkAvailable(descriptors: 5)
        } catch {
          throw StorageError(error, "set a timer", path: nil)
        }
        let fired = DispatchSemaphore(value: 0)
        let queue = DispatchQueue.global()
        queue.asyncAfter(deadline: .now() + .milliseconds(1)) { fired.signal() }
        queue.asyncAfter(wallDeadline: .now() + .milliseconds(1)) { fired.signal() }
        // Even if all threads are busy, the descriptors are opened.
        for _ in 0..<2 { _ = fired.wait(timeout: .now() + .seconds(1)) }
        isReady = true
      }
    #endif
  }
}
