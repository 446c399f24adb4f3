import Dispatch
import LatewoodDevice

/// How long tests wait for what has to come: no machine is too slow for them, and what hangs still
/// ends them.
package enum Patience {
  package static let seconds = 600
  package static var deadline: DispatchTime { .now() + .seconds(seconds) }

  /// Returns true when the condition holds, false if it never does. Looks once a millisecond, so
  /// that the thread that is waited for gets the processor.
  @discardableResult
  package static func wait(until condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<seconds * 1000 {
      if try condition() { return true }
      Monitor.sleep(milliseconds: 1)
    }
    return try condition()
  }
}
