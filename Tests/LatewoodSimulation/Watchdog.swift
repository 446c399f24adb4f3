import Dispatch
import LatewoodConcurrency

/// Runs work that may never end on a separate thread, so that a test of deadlocks fails with a
/// message instead of hanging.
package enum Watchdog {
  /// The error thrown if the work did not end within ``Patience``. Its thread keeps running.
  package struct Hung: Error, CustomStringConvertible {
    package let description: String
  }

  /// Runs the work, and returns its result or throws its error.
  ///
  /// - Parameter what: a description of the work for the message, such as "closing a database".
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
