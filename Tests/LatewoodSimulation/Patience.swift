import Dispatch
import LatewoodConcurrency

/// The time that tests wait for an event: long enough for slow machines, but tests that hang still
/// end.
package enum Patience {
  package static let seconds = 1800
  package static var deadline: DispatchTime { .now() + .seconds(seconds) }

  /// Waits until the condition holds; returns false if it never does. Checks once a millisecond, so
  /// that other threads get the processor.
  @discardableResult
  package static func wait(until condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<seconds * 1000 {
      if try condition() { return true }
      Monitor.sleep(milliseconds: 1)
    }
    return try condition()
  }
}
