// The functions that hidden lines of the pages call.

import Foundation

nonisolated struct ExampleFailed: Error { var what: String }

/// For hidden lines: ends the run if an example has not done what its page says.
nonisolated func expect(_ condition: Bool, _ what: String) throws {
  if !condition { throw ExampleFailed(what: what) }
}

/// Runs an example that does not end by itself, such as a loop over a feed, for a moment. An error
/// of it fails.
nonisolated func forAMoment(_ example: @escaping @Sendable () async throws -> Void) async throws {
  let task = Task(operation: example)
  try await Task.sleep(for: .milliseconds(200))
  task.cancel()
  do { try await task.value } catch is CancellationError {}
}
