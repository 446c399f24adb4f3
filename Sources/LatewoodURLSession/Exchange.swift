import Foundation
import LatewoodConcurrency
import LatewoodHTTP

/// A request and its answer, between the delegate of a session and the task that waits.
// SAFETY: `body` is set before the request is sent, and not changed afterwards; the rest is
// `Guarded`.
final class Exchange: @unchecked Sendable {
  /// The body of the request, if it is streamed.
  var body: UploadSource?

  private let unreadLimit: Int

  /// - Parameter unreadLimit: how many bytes may have arrived that nobody has read. If there are
  ///   more, the reader has stopped, or is much slower than the server, and the answer is given up.
  init(unreadLimit: Int) { self.unreadLimit = unreadLimit }

  private struct State {
    var head: HTTPResponseHead?
    var headWaiter: CheckedContinuation<HTTPResponseHead, any Error>?
    var arrived: [UInt8] = []
    /// The file of a long body.
    var file: FileHandle?
    var waiter: CheckedContinuation<[UInt8]?, any Error>?
    /// Nil while the exchange runs.
    var end: Result<Void, any Error>?
    var cancel: (@Sendable () -> Void)?
    var isCancelled = false
  }
  private let state = Guarded(State())

  // MARK: - For the task that waits

  /// Sets what ends the exchange; calls it if it has been cancelled before.
  func setCancel(_ cancel: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      state.cancel = cancel
      return state.isCancelled
    }
    if isCancelled { cancel() }
  }

  /// Ends the exchange, unless it has ended. Calls that wait throw.
  func cancel() {
    let cancel = state.withLock { state in
      guard state.end == nil, !state.isCancelled else { return nil as (@Sendable () -> Void)? }
      state.isCancelled = true
      return state.cancel
    }
    cancel?()
  }

  /// Returns the head of the answer, when it has arrived.
  func head() async throws -> HTTPResponseHead {
    try await withCheckedThrowingContinuation { waiter in
      let result: Result<HTTPResponseHead, any Error>? = state.withLock { state in
        if let head = state.head { return .success(head) }
        if case .failure(let error) = state.end { return .failure(error) }
        if state.end != nil {
          return .failure(HTTPError(.connectionLost, "the server closed the connection"))
        }
        state.headWaiter = waiter
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }

  /// The greatest number of bytes that are read from a file at a time.
  private static let pieceLength = 256 << 10

  /// Returns the next bytes of the body; nil after the last.
  func next() async throws -> [UInt8]? {
    if let file = state.withLock({ $0.file }) {
      do {
        let data = try file.read(upToCount: Exchange.pieceLength) ?? Data()
        return data.isEmpty ? nil : Array(data)
      } catch { throw HTTPError(.truncated, "the file of an answer cannot be read") }
    }
    return try await withCheckedThrowingContinuation { waiter in
      let result: Result<[UInt8]?, any Error>? = state.withLock { state in
        if let result = Exchange.take(&state) { return result }
        state.waiter = waiter
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }

  /// Returns what a reader gets now; nil if it has to wait.
  private static func take(_ state: inout State) -> Result<[UInt8]?, any Error>? {
    if !state.arrived.isEmpty {
      defer { state.arrived = [] }
      return .success(state.arrived)
    }
    switch state.end {
    case .success?: return .success(nil)
    case .failure(let error)?: return .failure(error)
    case nil: return nil
    }
  }

  // MARK: - For the delegate

  func receive(_ head: HTTPResponseHead) {
    let waiter = state.withLock { state in
      state.head = head
      defer { state.headWaiter = nil }
      return state.headWaiter
    }
    waiter?.resume(returning: head)
  }

  func receive(_ data: Data) {
    let isTooMuch = state.withLock { state in
      guard state.end == nil else { return false }
      state.arrived += data
      return state.waiter == nil && state.arrived.count > unreadLimit
    }
    if isTooMuch {
      end(.failure(HTTPError(.truncated, "an answer arrived faster than it was read")))
      state.withLock { $0.cancel }?()
    } else {
      resume()
    }
  }

  func receive(_ file: FileHandle) { state.withLock { $0.file = file } }

  /// Ends the exchange; only the first end counts.
  func end(_ result: Result<Void, any Error>) {
    let waiter = state.withLock { state in
      if state.end == nil { state.end = result }
      guard state.head == nil else { return nil as CheckedContinuation<HTTPResponseHead, any Error>? }
      defer { state.headWaiter = nil }
      return state.headWaiter
    }
    switch result {
    case .success: waiter?.resume(throwing: HTTPError(.connectionLost, "the server closed the connection"))
    case .failure(let error): waiter?.resume(throwing: error)
    }
    resume()
  }

  private func resume() {
    let (waiter, result) = state.withLock { state in
      guard state.waiter != nil, let result = Exchange.take(&state) else {
        return (nil as CheckedContinuation<[UInt8]?, any Error>?, nil as Result<[UInt8]?, any Error>?)
      }
      defer { state.waiter = nil }
      return (state.waiter, result)
    }
    if let waiter, let result { waiter.resume(with: result) }
  }

  /// Whether the head of an answer has arrived.
  var hasHead: Bool { state.withLock { $0.head != nil } }
}
