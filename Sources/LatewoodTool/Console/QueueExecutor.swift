import Dispatch

/// Runs tasks on threads of Dispatch. The command waits for its task, and its thread may be one of
/// the few that usually run Swift's tasks.
final class QueueExecutor: TaskExecutor {
  private let queue: DispatchQueue

  /// - Parameter label: the name of the queue.
  init(_ label: String) { queue = DispatchQueue(label: label, attributes: .concurrent) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
