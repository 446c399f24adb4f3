import LatewoodConcurrency
import LatewoodHTTP

/// A request as a server has read it.
package struct ScriptedRequest: Sendable {
  package var head: HTTPRequestHead
  package var target: HTTPTarget
  package var body: [UInt8]

  package var text: String { String(decoding: body, as: UTF8.self) }
}

/// The answer of a scripted server.
package struct ScriptedResponse: Sendable {
  package enum Fault: Sendable {
    case none
    /// The connection ends in an orderly way before the first byte.
    case closesBefore
    /// The connection is cut after a number of bytes of the response, its head included.
    case cutAfter(Int)
  }

  package var head: HTTPResponseHead
  package var body: [UInt8]
  package var isChunked: Bool
  package var fault: Fault

  package init(
    _ status: Int, _ body: [UInt8], fields: HTTPFields = HTTPFields(), isChunked: Bool = false,
    fault: Fault = .none
  ) {
    head = HTTPResponseHead(status, reason: "x", fields: fields)
    self.body = body
    self.isChunked = isChunked
    self.fault = fault
  }

  /// A response in JSON.
  package init(_ status: Int, json: String, fault: Fault = .none) {
    self.init(
      status, Array(json.utf8), fields: HTTPFields([("Content-Type", "application/json")]), fault: fault)
  }

  /// The bytes on the wire.
  package func encoded() throws -> [UInt8] {
    var head = head
    var bytes: [UInt8] = []
    if isChunked {
      head.fields.set("Transfer-Encoding", "chunked")
    } else {
      head.fields.set("Content-Length", "\(body.count)")
    }
    try HTTPEncoding.append(head, to: &bytes)
    guard isChunked else { return bytes + body }
    for start in stride(from: 0, to: body.count, by: 100) {
      HTTPEncoding.appendChunk(body[start..<min(start + 100, body.count)], to: &bytes)
    }
    return bytes + HTTPEncoding.lastChunk
  }
}

/// A server in this process, reached without sockets. A closure answers the requests. Connections
/// can be cut after any byte.
///
/// Thread safety: any task.
package final class ScriptedServer: ByteConnector {
  package typealias Handler = @Sendable (ScriptedRequest) async -> ScriptedResponse

  private struct State {
    var requests: [ScriptedRequest] = []
    var connections = 0
    var received: [MemoryPipe] = []
    var sent: [MemoryPipe] = []
    /// The numbers of bytes after which the next connections are lost, to and from the server.
    var cuts: [(toServer: Int?, fromServer: Int?)] = []
  }
  private let state = Guarded(State())
  private let pieceLength: Int
  private let handler: Handler

  /// - Parameter pieceLength: the greatest number of bytes that a client reads at a time.
  package init(pieceLength: Int = .max, _ handler: @escaping Handler) {
    self.pieceLength = pieceLength
    self.handler = handler
  }

  /// The requests that have been read completely.
  package var requests: [ScriptedRequest] { state.withLock { $0.requests } }
  package var connectionCount: Int { state.withLock { $0.connections } }
  /// The numbers of bytes that all connections have carried to and from the server.
  package var traffic: (toServer: Int, fromServer: Int) {
    let (received, sent) = state.withLock { ($0.received, $0.sent) }
    return (received.reduce(0) { $0 + $1.passed }, sent.reduce(0) { $0 + $1.passed })
  }

  /// Cuts the next connection after a number of bytes.
  package func cutNext(toServer: Int? = nil, fromServer: Int? = nil) {
    state.withLock { $0.cuts.append((toServer, fromServer)) }
  }

  package func connect(to origin: HTTPOrigin) async throws -> any ByteChannel {
    let (toServer, fromServer) = state.withLock { state in
      let cut = state.cuts.isEmpty ? (nil, nil) : state.cuts.removeFirst()
      let pipes = (
        MemoryPipe(budget: cut.0), MemoryPipe(budget: cut.1, pieceLength: pieceLength)
      )
      state.connections += 1
      state.received.append(pipes.0)
      state.sent.append(pipes.1)
      return pipes
    }
    let server = MemoryChannel(input: toServer, output: fromServer)
    Task { await serve(server) }
    return MemoryChannel(input: fromServer, output: toServer)
  }

  /// Serves a connection of any kind until it ends.
  package func serve(_ channel: any ByteChannel) async {
    defer { channel.close() }
    do {
      var parser = HTTPParser(isServer: true)
      var head: HTTPRequestHead?
      var body: [UInt8] = []
      while let piece = try await channel.read() {
        var offset = 0
        while let event = try parser.next(piece, &offset) {
          switch event {
          case .request(let request):
            head = request
            body = []
          case .data(let range): body += piece[range]
          case .response: break
          case .end:
            guard let head, let target = HTTPTarget(parsing: head.target) else { return }
            guard try await answer(ScriptedRequest(head: head, target: target, body: body), channel) else {
              return
            }
          }
        }
      }
    } catch {
      // The client or the script has ended the connection.
    }
  }

  /// Returns whether the connection stays open.
  private func answer(_ request: ScriptedRequest, _ channel: any ByteChannel) async throws -> Bool {
    state.withLock { $0.requests.append(request) }
    let response = await handler(request)
    switch response.fault {
    case .none:
      try await channel.write(response.encoded())
      return HTTPFraming.keepsConnection(response.head.fields, .http11)
    case .closesBefore: return false
    case .cutAfter(let count):
      try await channel.write(Array(response.encoded().prefix(count)))
      return false
    }
  }
}
