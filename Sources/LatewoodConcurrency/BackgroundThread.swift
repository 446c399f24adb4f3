import Dispatch

/// A low-priority thread for optional work.
///
/// A queue of utility priority is not enough on Linux, where Dispatch does not change the priority
/// of its threads. And the priority of a Dispatch thread must not be lowered, because it is reused
/// for other work.
package enum BackgroundThread {
  /// Runs `body` once. If no thread can be started, it runs on a queue.
  package static func run(_ body: @escaping @Sendable () -> Void) {
    if ThreadCalls.startThread({
      ThreadCalls.yieldToOthers()
      body()
    }) {
      return
    }
    DispatchQueue(label: "latewood.background", qos: .utility).async(execute: body)
  }

  /// Starts a thread of the usual priority, for a call that may block for long. Returns false if
  /// the system has no resources for it.
  package static func start(_ body: @escaping @Sendable () -> Void) -> Bool { ThreadCalls.startThread(body) }
}
