import Dispatch

/// Runs each body on a separate thread and waits for all. Tasks would not work: they share as many
/// threads as there are cores, so bodies that wait for each other could get no thread.
package func inThreads(_ bodies: [@Sendable () -> Void]) {
  let group = DispatchGroup()
  for body in bodies {
    // A busy serial queue occupies a separate thread.
    DispatchQueue(label: "test thread").async(group: group, execute: body)
  }
  group.wait()
}
