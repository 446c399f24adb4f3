import LatewoodConcurrency
import LatewoodHTTP

/// One direction of a connection in memory, which can be cut after any byte.
final class MemoryPipe: Sendable {
  private typealias Waiter = CheckedContinuation<Result<[UInt8]?, HTTPError>, Never>

  private struct State {
    var bytes: [UInt8] = []
    var hasEnded = false
    var isBroken = false
    var waiter: Waiter?
    /// The number of bytes that still pass; nil for all.
    var budget: Int?
    /// The greatest number of bytes of one read.
    var pieceLength: Int
    var passed = 0
  }
  private let state: Guarded<State>

  /// - Parameters:
  ///   - budget: the number of bytes after which the connection is lost; nil for never.
  ///   - pieceLength: the greatest number of bytes of one read.
  init(budget: Int? = nil, pieceLength: Int = .max) {
    state = Guarded(State(budget: budget, pieceLength: pieceLength))
  }

  /// The number of bytes that have passed.
  var passed: Int { state.withLock { $0.passed } }

  /// Adds bytes. Returns false if the connection is lost with or before them.
  func write(_ bytes: [UInt8]) -> Bool {
    update { state in
      guard !state.isBroken, !state.hasEnded else { return false }
      var part = bytes[...]
      if let budget = state.budget {
        part = part.prefix(budget)
        state.budget = budget - part.count
        state.isBroken = state.budget == 0
      }
      state.bytes += part
      state.passed += part.count
      return !state.isBroken
    }
  }

  /// - Parameter isBroken: whether the connection is lost, instead of ended in an orderly way.
  func end(isBroken: Bool) {
    update { state in
      if isBroken { state.isBroken = true }
      state.hasEnded = true
    }
  }

  func read() async throws -> [UInt8]? {
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { waiter in
        let result: Result<[UInt8]?, HTTPError>? = state.withLock { state in
          if Task.isCancelled { return .failure(HTTPError(.cancelled, "the task was cancelled")) }
          if let result = MemoryPipe.take(&state) { return result }
          state.waiter = waiter
          return nil
        }
        if let result { waiter.resume(returning: result) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        defer { state.waiter = nil }
        return state.waiter
      }
      waiter?.resume(returning: .failure(HTTPError(.cancelled, "the task was cancelled")))
    }
    return try result.get()
  }

  private func update<R>(_ body: (inout State) -> R) -> R {
    let (value, waiter, result) = state.withLock { state in
      let value = body(&state)
      guard state.waiter != nil, let result = MemoryPipe.take(&state) else {
        return (value, nil as Waiter?, nil as Result<[UInt8]?, HTTPError>?)
      }
      defer { state.waiter = nil }
      return (value, state.waiter, result)
    }
    if let waiter, let result { waiter.resume(returning: result) }
    return value
  }

  private static func take(_ state: inout State) -> Result<[UInt8]?, HTTPError>? {
    if !state.bytes.isEmpty {
      let piece = Array(state.bytes.prefix(state.pieceLength))
      state.bytes.removeFirst(piece.count)
      return .success(piece)
    }
    if state.isBroken { return .failure(HTTPError(.connectionLost, "the connection was cut")) }
    return state.hasEnded ? .success(nil) : nil
  }
}

/// One end of a connection in memory.
package final class MemoryChannel: ByteChannel {
  private let input: MemoryPipe
  private let output: MemoryPipe

  init(input: MemoryPipe, output: MemoryPipe) {
    self.input = input
    self.output = output
  }

  /// Returns the two ends of a connection.
  ///
  /// - Parameter pieceLength: the greatest number of bytes that the server reads in one step.
  package static func pair(pieceLength: Int = .max) -> (client: MemoryChannel, server: MemoryChannel) {
    let (toServer, fromServer) = (MemoryPipe(pieceLength: pieceLength), MemoryPipe())
    return (
      MemoryChannel(input: fromServer, output: toServer), MemoryChannel(input: toServer, output: fromServer)
    )
  }

  package func read() async throws -> [UInt8]? { try await input.read() }

  /// Ends the direction to the peer, which can still send.
  package func endWriting() { output.end(isBroken: false) }

  package func write(_ bytes: [UInt8]) async throws {
    guard output.write(bytes) else {
      // A connection is lost in both directions.
      input.end(isBroken: true)
      output.end(isBroken: true)
      throw HTTPError(.connectionLost, "the connection was cut")
    }
  }

  package func close() {
    input.end(isBroken: true)
    output.end(isBroken: false)
  }
}
