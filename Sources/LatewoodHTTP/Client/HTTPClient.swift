import LatewoodConcurrency

/// Sends requests to one origin over connections that it keeps for the next request.
///
/// 1. A connection carries one request at a time. It becomes idle again only if the request was
///    sent completely, its response was read completely, and both sides allow another request.
/// 2. A server may close an idle connection at any time. If a request finds its connection closed
///    before the first byte of a response, it is sent once more on a new connection, provided that
///    its body can be repeated. All requests of the replication protocol may be repeated.
/// 3. Fields given at creation, such as credentials, are sent to this origin only: redirects are
///    not followed.
///
/// Thread safety: any task.
package final class HTTPClient: HTTPTransport {
  private let origin: HTTPOrigin
  private let connector: any ByteConnector
  private let limits: HTTPLimits

  private struct State {
    var idle: [HTTPConnection] = []
    /// All connections, to close them.
    var open: [ObjectIdentifier: HTTPConnection] = [:]
    var isClosed = false
  }
  private let state = Guarded(State())

  /// The greatest number of connections that are kept for later requests.
  package static let idleLimit = 8

  package init(origin: HTTPOrigin, connector: any ByteConnector, limits: HTTPLimits = HTTPLimits()) {
    self.origin = origin
    self.connector = connector
    self.limits = limits
  }

  deinit { close() }

  package func send(_ request: HTTPRequest) async throws -> any HTTPResponse {
    if let connection = state.withLock({ $0.idle.popLast() }) {
      do {
        return try await connection.send(request, to: origin, for: self)
      } catch let error as HTTPError where error.kind == .connectionLost && request.isRepeatable {
        // Invariant 2. The other idle connections may be closed too, but this request does not try
        // them.
      }
    }
    try Task.checkCancellation()
    let channel = try await connector.connect(to: origin)
    let connection = HTTPConnection(channel, limits)
    let isClosed = state.withLock { state in
      if !state.isClosed { state.open[ObjectIdentifier(connection)] = connection }
      return state.isClosed
    }
    guard !isClosed else {
      connection.close()
      throw HTTPError(.cancelled, "the client was closed")
    }
    return try await connection.send(request, to: origin, for: self)
  }

  package func close() {
    let connections = state.withLock { state in
      state.isClosed = true
      defer {
        state.open = [:]
        state.idle = []
      }
      return Array(state.open.values)
    }
    for connection in connections { connection.close() }
  }

  /// Takes back a connection whose exchange has ended.
  func take(_ connection: HTTPConnection, isReusable: Bool) {
    let isKept = state.withLock { state in
      if isReusable, !state.isClosed, state.idle.count < HTTPClient.idleLimit {
        state.idle.append(connection)
        return true
      }
      state.open[ObjectIdentifier(connection)] = nil
      return false
    }
    if !isKept { connection.close() }
  }

  /// The number of open connections.
  package var connectionCount: Int { state.withLock { $0.open.count } }
}

extension HTTPRequest {
  /// Whether the body can be sent a second time.
  fileprivate var isRepeatable: Bool {
    if case .stream = body { return false }
    return true
  }
}
