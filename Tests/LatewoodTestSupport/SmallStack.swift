import Foundation
import LatewoodDevice

/// Runs `body` on a thread with the small stack that threads have on some systems, and waits for
/// it. Rethrows its error. A stack that overflows ends the process.
package func onSmallStack(_ body: @escaping @Sendable () throws -> Void) throws {
  let outcome = Outcome()
  let isDone = DispatchSemaphore(value: 0)
  let thread = Thread {
    outcome.result = Result { try body() }
    isDone.signal()
  }
  // The address sanitizer, for which `LATEWOOD_EFFORT` is `low`, multiplies the stack that calls
  // take.
  let isLow = CurrentProcess.environmentVariable("LATEWOOD_EFFORT") == "low"
  thread.stackSize = isLow ? 4 << 20 : 512 << 10
  thread.start()
  isDone.wait()
  try outcome.result.get()
}

private final class Outcome: @unchecked Sendable {
  // SAFETY: written before the semaphore is signalled, and read after waiting for it.
  var result: Result<Void, any Error> = .failure(CancellationError())
}
