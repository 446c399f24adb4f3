import Dispatch
import LatewoodDevice

/// Runs work that may never end on a thread of its own, so that a test of deadlocks fails with a
/// sentence and does not hang.
package enum Watchdog {
  /// Thrown when the work did not end within ``Patience``. Its thread is left as it is.
  package struct Hung: Error, CustomStringConvertible {
    package let description: String
  }

  /// Returns what the work returns, and throws what it throws.
  ///
  /// - Parameter what: what is done, for the message: "closing a database".
  package static func run<R: Sendable>(
    _ what: String, _ body: @escaping @Sendable () throws -> R
  ) throws -> R {
    let outcome = Guarded<Result<R, any Error>?>(nil)
    let hasEnded = DispatchSemaphore(value: 0)
    BackgroundThread.run {
      let result = Result { try body() }
      outcome.withLock { $0 = result }
      hasEnded.signal()
    }
    _ = hasEnded.wait(timeout: Patience.deadline)
    guard let result = outcome.withLock({ $0 }) else {
      throw Hung(description: "\(what) has not ended in \(Patience.seconds) seconds: it waits for itself")
    }
    return try result.get()
  }
}
