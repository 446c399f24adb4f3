import Dispatch

/// A thread for work that helps and that nobody should notice: it takes a smaller share of the
/// processor than others.
///
/// A queue of utility priority does not do on Linux, where Dispatch leaves the priority of its
/// threads alone; and one of its threads must not be made slower, since it comes back to others.
package enum BackgroundThread {
  /// Runs `body` once. If there is no room for another thread it runs on a queue.
  package static func run(_ body: @escaping @Sendable () -> Void) {
    if SystemCalls.startThread({
      SystemCalls.yieldToOthers()
      body()
    }) {
      return
    }
    DispatchQueue(label: "latewood.background", qos: .utility).async(execute: body)
  }
}
