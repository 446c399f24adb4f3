import Foundation
import LatewoodConcurrency
import LatewoodHTTP

/// A request and its answer, between the delegate of a session and the task that waits.
///
/// Thread safety: any thread; one task at a time waits.
final class Exchange: Sendable {
  /// The body of the request, if it is streamed.
  let body: UploadSource?
  private let unreadLimit: Int
  private let mayUseFile: Bool

  private struct State {
    var head: HTTPResponseHead?
    var headWaiter: CheckedContinuation<HTTPResponseHead, any Error>?
    /// The bytes that nobody has read: first those in memory, then those in the file.
    var arrived: [UInt8] = []
    var file: WaitingBytes?
    var waiter: CheckedContinuation<[UInt8]?, any Error>?
    /// Nil while the exchange runs.
    var end: Result<Void, any Error>?
    var cancel: (@Sendable () -> Void)?
    var isCancelled = false
  }
  private let state = Guarded(State())

  /// - Parameters:
  ///   - unreadLimit: the number of bytes that may wait in memory for a reader. If there are more,
  ///     the reader has stopped, or is much slower than the server, and the answer is given up.
  ///   - mayUseFile: whether bytes wait in a file instead.
  ///   - body: the streamed body of the request.
  init(unreadLimit: Int, mayUseFile: Bool, body: UploadSource?) {
    self.unreadLimit = unreadLimit
    self.mayUseFile = mayUseFile
    self.body = body
  }

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

  /// Returns the next bytes of the body; nil after the last.
  func next() async throws -> [UInt8]? {
    try await withCheckedThrowingContinuation { waiter in
      let result: Result<[UInt8]?, any Error>? = state.withLock { state in
        if let result = Exchange.take(&state) { return result }
        state.waiter = waiter
        return nil
      }
      if let result { waiter.resume(with: result) }
    }
  }

  /// Returns the next result for a reader; nil if it has to wait.
  private static func take(_ state: inout State) -> Result<[UInt8]?, any Error>? {
    if !state.arrived.isEmpty {
      defer { state.arrived = [] }
      return .success(state.arrived)
    }
    if let file = state.file, !file.isEmpty {
      do { return .success(try file.read()) } catch {
        return .failure(HTTPError(.truncated, "the file of an answer cannot be read"))
      }
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

  /// The number of bytes that wait in memory if there can be a file.
  private static let memoryOfLongBody = 1 << 20

  func receive(_ data: Data) {
    let fault = state.withLock { state -> HTTPError? in
      guard state.end == nil else { return nil }
      let isWaiting = state.waiter == nil
      if mayUseFile, isWaiting,
        state.file?.isEmpty == false || state.arrived.count + data.count > Exchange.memoryOfLongBody
      {
        return Exchange.store(data, &state)
      }
      state.arrived += data
      guard isWaiting, state.arrived.count > unreadLimit else { return nil }
      return HTTPError(.truncated, "an answer arrived faster than it was read")
    }
    if let fault {
      end(.failure(fault))
      state.withLock { $0.cancel }?()
    } else {
      resume()
    }
  }

  /// Adds bytes to the file, which is created first if there is none.
  private static func store(_ data: Data, _ state: inout State) -> HTTPError? {
    do {
      let file = try state.file ?? WaitingBytes()
      state.file = file
      try file.append(data)
      return nil
    } catch {
      return HTTPError(
        .connectionLost,
        "an answer cannot be stored in the directory for temporary files: it is full, or cannot be written")
    }
  }

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

/// Bytes that wait to be read, in a file without a name that only this user can read.
///
/// Thread safety: one thread at a time.
private final class WaitingBytes {
  private let file: FileHandle
  private var start: UInt64 = 0
  private var end: UInt64 = 0

  /// The greatest number of bytes that are read at a time.
  private static let pieceLength = 256 << 10

  init() throws {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("latewood-\(UUID().uuidString)")
    guard
      FileManager.default.createFile(
        atPath: url.path, contents: nil, attributes: [.posixPermissions: 0o600])
    else { throw CocoaError(.fileWriteUnknown) }
    defer { try? FileManager.default.removeItem(at: url) }
    file = try FileHandle(forUpdating: url)
  }

  deinit { try? file.close() }

  var isEmpty: Bool { start == end }

  func append(_ data: Data) throws {
    try file.seek(toOffset: end)
    try file.write(contentsOf: data)
    end += UInt64(data.count)
  }

  /// Returns the next bytes. The space of the file is free again when all of them have been read.
  func read() throws -> [UInt8] {
    try file.seek(toOffset: start)
    let count = Int(min(end - start, UInt64(WaitingBytes.pieceLength)))
    guard let data = try file.read(upToCount: count), !data.isEmpty else {
      throw CocoaError(.fileReadUnknown)
    }
    start += UInt64(data.count)
    if isEmpty {
      try file.truncate(atOffset: 0)
      (start, end) = (0, 0)
    }
    return Array(data)
  }
}
