import Dispatch
import LatewoodConcurrency
import LatewoodHTTP

/// A connected socket.
///
/// It reads and writes only when a task calls it. If the socket is not ready, the task is
/// suspended, and a dispatch source resumes it, so no thread waits. Bytes that no task reads stay
/// with the system, which makes the peer wait.
///
/// 1. A source is suspended unless a task waits for it. `close` resumes it, because Dispatch does
///    not allow the release of a suspended source, and because the cancel handlers close the
///    descriptor.
/// 2. The descriptor is closed when both sources have been cancelled and no call uses it, so a call
///    never uses a number that the system has given to another file.
/// 3. A waiting task is resumed exactly once: the caller that removes it from the state resumes it.
///
/// Thread safety: see `ByteChannel`.
// SAFETY: the sources are thread-safe and never change; all other state is guarded.
package final class SocketChannel: ByteChannel, @unchecked Sendable {
  private typealias Waiter = UnsafeContinuation<Result<Void, HTTPError>, Never>

  private enum Direction: CaseIterable { case reading, writing }

  private struct Wait {
    let waiter: Waiter
    /// The time at which the wait fails.
    let deadline: ContinuousClock.Instant
  }

  private struct State {
    var waits: [Direction: Wait] = [:]
    var timeout: Duration
    var isClosed = false
  }

  /// The address of the other end; empty if it is not known.
  package let peer: String
  private let descriptor: Int32
  private let readSource: any DispatchSourceRead
  private let writeSource: any DispatchSourceWrite
  private let state: Guarded<State>
  private let timer = LazyTimer()
  private let closing: ClosingDescriptor

  /// The queue of the handlers of all sockets, which only resume tasks.
  static let queue = DispatchQueue(label: "latewood.network", qos: .userInitiated)

  /// The greatest number of bytes of one read.
  private static let readLength = 64 << 10

  /// Takes over a connected descriptor.
  ///
  /// - Parameters:
  ///   - timeout: a read or write fails if no byte is transferred for this time.
  ///   - peer: the address of the other end, if it is known.
  init(_ descriptor: Int32, timeout: Duration, from peer: String = "") {
    self.descriptor = descriptor
    self.peer = peer
    state = Guarded(State(timeout: timeout))
    readSource = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: SocketChannel.queue)
    writeSource = DispatchSource.makeWriteSource(fileDescriptor: descriptor, queue: SocketChannel.queue)
    closing = ClosingDescriptor(descriptor)
    // A source begins suspended. The handlers keep the channel alive only while they run.
    readSource.setEventHandler { [weak self] in self?.wake(.reading, .success(())) }
    writeSource.setEventHandler { [weak self] in self?.wake(.writing, .success(())) }
    readSource.setCancelHandler { [closing] in closing.release() }
    writeSource.setCancelHandler { [closing] in closing.release() }
  }

  deinit { close() }

  package func read() async throws -> [UInt8]? {
    while true {
      switch receive() {
      case .done(let bytes): return bytes.isEmpty ? nil : bytes
      case .failed(let error): throw error
      case .wouldBlock: try await wait(.reading)
      }
    }
  }

  package func write(_ bytes: [UInt8]) async throws {
    var offset = 0
    while offset < bytes.count {
      switch send(bytes, from: offset) {
      case .done(let count): offset += count
      case .failed(let error): throw error
      case .wouldBlock: try await wait(.writing)
      }
    }
  }

  /// The outcome of a call that does not wait.
  private enum Attempt<Value> {
    case done(Value)
    case wouldBlock
    case failed(HTTPError)
  }

  // Calls with typed errors are in separate functions, because Swift 6.3 cannot optimize an async
  // function into which they are inlined.

  @inline(never) private func receive() -> Attempt<[UInt8]> {
    guard !isClosed, closing.retain() else { return .failed(SocketChannel.closed) }
    defer { closing.release() }
    while true {
      do throws(SocketCalls.Failure) {
        return .done(try SocketCalls.receive(descriptor, SocketChannel.readLength))
      } catch {
        if error.wouldBlock { return .wouldBlock }
        if !error.isInterrupted { return .failed(SocketChannel.lost(error)) }
      }
    }
  }

  @inline(never) private func send(_ bytes: [UInt8], from offset: Int) -> Attempt<Int> {
    guard !isClosed, closing.retain() else { return .failed(SocketChannel.closed) }
    defer { closing.release() }
    while true {
      do throws(SocketCalls.Failure) {
        return .done(try SocketCalls.send(descriptor, bytes, from: offset))
      } catch {
        if error.wouldBlock { return .wouldBlock }
        if !error.isInterrupted { return .failed(SocketChannel.lost(error)) }
      }
    }
  }

  /// Waits for the end of the connection attempt, and sets the timeout for later reads and writes.
  func finishConnecting(timeout: Duration) async throws {
    try await wait(.writing)
    guard closing.retain() else { throw SocketChannel.closed }
    defer { closing.release() }
    if let failure = SocketCalls.connectionFailure(descriptor) {
      throw HTTPError(.notConnected, "the host cannot be reached: \(failure.reason)")
    }
    state.withLock { $0.timeout = timeout }
  }

  package func close() {
    let waits: [Wait]? = state.withLock { state in
      guard !state.isClosed else { return nil }
      state.isClosed = true
      for direction in Direction.allCases where state.waits[direction] == nil { resumeSource(direction) }
      defer { state.waits = [:] }
      return Array(state.waits.values)
    }
    guard let waits else { return }
    readSource.cancel()
    writeSource.cancel()
    for wait in waits { wait.waiter.resume(returning: .failure(SocketChannel.closed)) }
  }

  private var isClosed: Bool { state.withLock { $0.isClosed } }

  private static let closed = HTTPError(.cancelled, "the connection was closed by this side")

  private static func lost(_ failure: SocketCalls.Failure) -> HTTPError {
    HTTPError(.connectionLost, "the connection was lost: \(failure.reason)")
  }

  // MARK: - Waiting

  private func wait(_ direction: Direction) async throws {
    let result = await withTaskCancellationHandler {
      await withUnsafeContinuation { (waiter: Waiter) in begin(direction, waiter) }
    } onCancel: {
      wake(direction, .failure(SocketChannel.cancelled))
    }
    try result.get()
  }

  private static let cancelled = HTTPError(.cancelled, "the task was cancelled")

  private func begin(_ direction: Direction, _ waiter: Waiter) {
    let result: Result<Duration, HTTPError> = state.withLock { state in
      if state.isClosed { return .failure(SocketChannel.closed) }
      // The cancellation handler ran before the waiter was registered.
      if Task.isCancelled { return .failure(SocketChannel.cancelled) }
      precondition(state.waits[direction] == nil, "two tasks wait for one direction")
      state.waits[direction] = Wait(waiter: waiter, deadline: .now + state.timeout)
      resumeSource(direction)
      return .success(state.timeout)
    }
    switch result {
    case .success(let timeout): timer.start(after: timeout) { [weak self] in self?.expire() }
    case .failure(let error): waiter.resume(returning: .failure(error))
    }
  }

  /// Ends the wait of a direction, if there is one.
  ///
  /// - Parameter time: if given, the wait is ended only if its deadline is not later.
  private func wake(
    _ direction: Direction, _ result: Result<Void, HTTPError>, at time: ContinuousClock.Instant? = nil
  ) {
    let wait: Wait? = state.withLock { state in
      if let time, let wait = state.waits[direction], wait.deadline > time { return nil }
      let wait = state.waits.removeValue(forKey: direction)
      if wait != nil { suspendSource(direction) }
      return wait
    }
    wait?.waiter.resume(returning: result)
  }

  /// Ends the waits that have lasted too long. Returns the time until the next deadline; nil if
  /// nothing waits.
  private func expire() -> Duration? {
    let now = ContinuousClock.now
    let (waits, timeout) = state.withLock { ($0.waits, $0.timeout) }
    for (direction, wait) in waits where wait.deadline <= now {
      let action = direction == .reading ? "sent" : "taken"
      let error = HTTPError(.timedOut, "the peer has \(action) nothing for \(timeout)")
      wake(direction, .failure(error), at: now)
    }
    return waits.values.map(\.deadline).filter { $0 > now }.min().map { now.duration(to: $0) }
  }

  private func resumeSource(_ direction: Direction) {
    if direction == .reading { readSource.resume() } else { writeSource.resume() }
  }

  private func suspendSource(_ direction: Direction) {
    if direction == .reading { readSource.suspend() } else { writeSource.suspend() }
  }
}

/// Closes a descriptor when both of its sources have been cancelled and the last call has returned.
private final class ClosingDescriptor: Sendable {
  private let descriptor: Int32
  private let users = Guarded(2)

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  /// Keeps the descriptor open for a call. Returns false if it is already closed.
  func retain() -> Bool {
    users.withLock { users in
      if users == 0 { return false }
      users += 1
      return true
    }
  }

  func release() {
    let isLast = users.withLock { users in
      users -= 1
      return users == 0
    }
    if isLast { SocketCalls.close(descriptor) }
  }
}
