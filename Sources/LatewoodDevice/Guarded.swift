/// A value that is only touched with its lock held.
///
/// Like `Mutex` of the Synchronization module, but on a POSIX mutex: an uncontended lock costs a
/// third, and the thread sanitizer understands it.
// SAFETY: `value` is only reached through `withLock`.
package final class Guarded<Value>: @unchecked Sendable {
  private let monitor = Monitor()
  private var value: Value

  package init(_ value: Value) { self.value = value }

  package func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return try body(&value)
  }
}
