import LatewoodConcurrency
import LatewoodHTTP
import LatewoodHTTPScripts
import LatewoodNetwork
import Testing

@testable import LatewoodURLSession

/// No test ends by a timeout: a task may wait for its turn for as long as the other tests take.
private let aDay = Duration.seconds(86_400)

@Suite struct URLSessionTransportTests {
  /// A server on loopback and its client.
  private struct Loopback {
    let listener: SocketListener
    let client: URLSessionTransport

    init(_ server: ScriptedServer, unreadLimit: Int = 64 << 20) throws {
      listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
        Task { await server.serve(channel) }
      }
      client = URLSessionTransport(
        origin: HTTPOrigin(host: "127.0.0.1", port: listener.port), timeout: 86_400, unreadLimit: unreadLimit)
    }
  }

  private static func bytes(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
  }

  private struct Pieces: HTTPBodySource {
    let list: Guarded<[[UInt8]]>
    let failure: ReplicaFailure?
    init(_ list: [[UInt8]], failure: ReplicaFailure? = nil) {
      self.list = Guarded(list)
      self.failure = failure
    }
    func next() async throws -> [UInt8]? {
      let next = list.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      if next == nil, let failure { throw failure }
      return next
    }
  }
  private struct ReplicaFailure: Error, Equatable {}

  @Test(arguments: [0, 1, 100_000, 3_000_000])
  func `bodies arrive in both directions`(count: Int) async throws {
    let server = ScriptedServer { ScriptedResponse(200, $0.body, isChunked: $0.body.count % 2 == 0) }
    let loopback = try Loopback(server)
    let body = Self.bytes(count)
    var request = HTTPRequest("POST", HTTPTarget(["a/b c", "é"]), body: .bytes(body))
    let response = try await loopback.client.send(request)
    #expect(try await response.collect(limit: count) == body)
    request.expectsLongBody = true
    request.fields.add("Accept", "*/*")
    let long = try await loopback.client.send(request)
    #expect(try await long.collect(limit: count) == body)
    #expect(try await long.next() == nil)
    #expect(server.requests.map(\.target.segments) == [["a/b c", "é"], ["a/b c", "é"]])
    #expect(server.requests.last?.head.fields["Accept"] == "*/*")
    #expect(server.requests.allSatisfy { $0.head.fields.values("Accept-Encoding") == ["identity"] })
  }

  @Test func `a body is streamed, and an error of its source ends the request`() async throws {
    let server = ScriptedServer { ScriptedResponse(201, $0.body) }
    let loopback = try Loopback(server)
    let pieces = (0..<40).map { Self.bytes($0 * 5000) }
    let whole = Array(pieces.joined())
    let body = HTTPBody.stream(Pieces(pieces), length: UInt64(whole.count))
    let response = try await loopback.client.send(HTTPRequest("PUT", HTTPTarget(["a"]), body: body))
    #expect(response.head.status == 201)
    #expect(try await response.collect(limit: whole.count) == whole)
    #expect(server.requests.first?.head.fields["Content-Length"] == nil)
    let broken = HTTPBody.stream(Pieces(pieces, failure: ReplicaFailure()), length: nil)
    await #expect(throws: ReplicaFailure()) {
      try await loopback.client.send(HTTPRequest("PUT", HTTPTarget(["a"]), body: broken))
    }
    #expect(server.requests.count == 1)
  }

  @Test(arguments: [false, true])
  func `redirects, refusals and cookies are handed to the caller`(isLong: Bool) async throws {
    let server = ScriptedServer { request in
      switch request.target.segments.first {
      case "there": ScriptedResponse(200, [])
      case "secret":
        ScriptedResponse(401, [1, 2, 3], fields: HTTPFields([("WWW-Authenticate", "Basic realm=\"x\"")]))
      default:
        ScriptedResponse(
          302, [],
          fields: HTTPFields([
            ("Location", "/there"), ("Set-Cookie", "other=1; Path=/"),
            ("Set-Cookie", "AuthSession=abc; Version=1; Path=/; HttpOnly"),
          ]))
      }
    }
    let loopback = try Loopback(server)
    for _ in 0..<2 {
      var request = HTTPRequest("GET", HTTPTarget(["here"]))
      request.expectsLongBody = isLong
      let response = try await loopback.client.send(request)
      #expect(response.head.status == 302)
      #expect(response.head.fields["Location"] == "/there")
      #expect(response.head.fields.values("Set-Cookie").sorted() == ["AuthSession=abc", "other=1"])
      #expect(try await response.next() == nil)
    }
    #expect(server.requests.map(\.target.segments) == [["here"], ["here"]])
    #expect(server.requests.allSatisfy { $0.head.fields["Cookie"] == nil })
    var request = HTTPRequest("GET", HTTPTarget(["secret"]))
    request.fields.set("Authorization", "Basic eDp5")
    request.expectsLongBody = isLong
    let response = try await loopback.client.send(request)
    #expect(response.head.status == 401)
    #expect(try await response.collect(limit: 3) == [1, 2, 3])
    #expect(server.requests.last?.head.fields["Authorization"] == "Basic eDp5")
    #expect(server.requests.count == 3)
  }

  @Test(arguments: [false, true])
  func `a lost connection is an error, before an answer and within`(isLong: Bool) async throws {
    let fault = Guarded(ScriptedResponse.Fault.none)
    let server = ScriptedServer { _ in
      ScriptedResponse(200, Self.bytes(100_000), fault: fault.withLock { $0 })
    }
    let loopback = try Loopback(server)
    var request = HTTPRequest("PATCH", HTTPTarget(["a"]))
    request.expectsLongBody = isLong
    // Not within the head: before the repair of swift-corelibs-foundation 5285, URLSession on Linux
    // traps there.
    for next in [ScriptedResponse.Fault.closesBefore, .cutAfter(200), .cutAfter(50_000)] {
      fault.withLock { $0 = next }
      let error = await #expect(throws: HTTPError.self) {
        try await loopback.client.send(request).collect(limit: 200_000)
      }
      #expect(error.map { [.connectionLost, .truncated].contains($0.kind) } == true)
    }
    fault.withLock { $0 = .none }
    #expect(try await loopback.client.send(request).collect(limit: 100_000).count == 100_000)
  }

  @Test func `a feed is read while it arrives`() async throws {
    let (sender, listener) = try await Self.openAnswer()
    let client = URLSessionTransport(
      origin: HTTPOrigin(host: "127.0.0.1", port: listener.port), timeout: 86_400)
    async let sent = client.send(HTTPRequest("GET", HTTPTarget(["feed"])))
    let channel = try await sender()
    try await channel.write(Array("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n".utf8))
    let response = try await sent
    #expect(try await response.next() == [97])
    try await channel.write(Array("1\r\nb\r\n".utf8))
    #expect(try await response.next() == [98])
    // A reader that waits is told to stop.
    let reader = Task { try await response.next() }
    reader.cancel()
    let error = await #expect(throws: HTTPError.self) { try await reader.value }
    #expect(error?.kind == .cancelled)
  }

  @Test func `an answer that nobody reads is given up`() async throws {
    let (sender, listener) = try await Self.openAnswer()
    let client = URLSessionTransport(
      origin: HTTPOrigin(host: "127.0.0.1", port: listener.port), timeout: 86_400, unreadLimit: 1 << 20)
    async let sent = client.send(HTTPRequest("GET", HTTPTarget(["feed"])))
    let channel = try await sender()
    try await channel.write(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
    let response = try await sent
    await #expect(throws: HTTPError.self) {
      while true { try await channel.write([UInt8](repeating: 0, count: 100_000)) }
    }
    let error = await #expect(throws: HTTPError.self) {
      while try await response.next() != nil {}
    }
    #expect(error?.kind == .truncated)
  }

  @Test func `a long answer waits in a file for a slow reader`() async throws {
    let whole = Self.bytes(20_000_000)
    let server = ScriptedServer { _ in ScriptedResponse(200, whole) }
    let loopback = try Loopback(server, unreadLimit: 1 << 20)
    var request = HTTPRequest("GET", HTTPTarget(["a"]))
    request.expectsLongBody = true
    let response = try await loopback.client.send(request)
    var read: [UInt8] = []
    var pieces = 0
    while let piece = try await response.next() {
      read += piece
      pieces += 1
      if pieces == 2 { try await Task.sleep(for: .milliseconds(300)) }
    }
    #expect(read == whole)
    let abandoned = try await loopback.client.send(request)
    _ = try await abandoned.next()
    abandoned.close()
    // It ends, with what had arrived or as cancelled.
    do { while try await abandoned.next() != nil {} } catch let error as HTTPError {
      #expect(error.kind == .cancelled)
    }
  }

  @Test func `segments of dots are refused`() async throws {
    let server = ScriptedServer { _ in ScriptedResponse(200, []) }
    let loopback = try Loopback(server)
    for segment in [".", ".."] {
      let error = await #expect(throws: HTTPError.self) {
        _ = try await loopback.client.send(HTTPRequest("GET", HTTPTarget(["a", segment])))
      }
      #expect(error?.kind == .invalidRequest)
    }
    #expect(server.requests.isEmpty)
  }

  @Test func `many requests run beside uploads whose sources wait`() async throws {
    let server = ScriptedServer { ScriptedResponse(200, [UInt8($0.body.count & 0xFF)]) }
    let loopback = try Loopback(server)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<24 {
        group.addTask {
          let body: HTTPBody = number % 3 == 0 ? .stream(SlowPieces(), length: nil) : .none
          let response = try await loopback.client.send(HTTPRequest("PUT", HTTPTarget(["a"]), body: body))
          #expect(try await response.collect(limit: 1) == [number % 3 == 0 ? 5 : 0])
        }
      }
      try await group.waitForAll()
    }
  }

  private actor SlowPieces: HTTPBodySource {
    private var left = 5
    func next() async throws -> [UInt8]? {
      try await Task.sleep(for: .milliseconds(5))
      guard left > 0 else { return nil }
      left -= 1
      return [1]
    }
  }

  @Test func `a closed client ends its requests, and sends no more`() async throws {
    let (sender, listener) = try await Self.openAnswer()
    let client = URLSessionTransport(
      origin: HTTPOrigin(host: "127.0.0.1", port: listener.port), timeout: 86_400)
    let sent = Task { try await client.send(HTTPRequest("GET", HTTPTarget(["feed"]))) }
    let channel = try await sender()
    client.close()
    client.close()
    for _ in 0..<2 {
      let error = await #expect(throws: HTTPError.self) {
        _ = try await client.send(HTTPRequest("GET", HTTPTarget(["feed"])))
      }
      #expect(error?.kind == .cancelled)
    }
    let error = await #expect(throws: HTTPError.self) { _ = try await sent.value }
    #expect(error?.kind == .cancelled)
    channel.close()
  }

  @Test func `what cannot be reached is named`() async throws {
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { $0.close() }
    let port = listener.port
    let closes = URLSessionTransport(origin: HTTPOrigin(host: "127.0.0.1", port: port), timeout: 86_400)
    let error = await #expect(throws: HTTPError.self) {
      _ = try await closes.send(HTTPRequest("PUT", HTTPTarget(["a"])))
    }
    #expect(error?.kind == .connectionLost, "\(String(describing: error))")
    let nobody = URLSessionTransport(origin: HTTPOrigin(host: "nobody.invalid", port: 80), timeout: 86_400)
    let unknown = await #expect(throws: HTTPError.self) {
      _ = try await nobody.send(HTTPRequest("GET", HTTPTarget(["a"])))
    }
    #expect(unknown?.kind == .notConnected)
    var forged = HTTPRequest("GET", HTTPTarget(["a"]))
    forged.fields.add("X", "a\r\nY: b")
    let refused = await #expect(throws: HTTPError.self) { _ = try await nobody.send(forged) }
    #expect(refused?.kind == .invalidRequest)
  }

  /// Returns a listener, and what waits for its first connection after its request has arrived.
  private static func openAnswer() async throws -> (() async throws -> SocketChannel, SocketListener) {
    let accepted = Guarded<SocketChannel?>(nil)
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
      accepted.withLock { $0 = channel }
    }
    return (
      {
        while true {
          if let channel = accepted.withLock({ $0 }) {
            _ = try await channel.read()
            return channel
          }
          try await Task.sleep(for: .milliseconds(1))
        }
      }, listener
    )
  }
}
