import Dispatch

extension DispatchQueue {
  /// Runs a closure that may block on this queue instead of the caller's thread.
  package func perform<R: Sendable>(_ body: @escaping @Sendable () throws -> R) async throws -> R {
    try await withCheckedThrowingContinuation { continuation in
      async { continuation.resume(with: Result { try body() }) }
    }
  }
}
