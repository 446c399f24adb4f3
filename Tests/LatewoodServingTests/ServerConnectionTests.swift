import LatewoodConcurrency
import LatewoodHTTP
import LatewoodHTTPScripts
import Testing

@testable import LatewoodServing

@Suite struct ServerConnectionTests {
  /// Sends bytes over a connection to a service, in pieces, and returns everything that comes back
  /// before the server ends the connection.
  private func exchange(
    _ text: String, pieces length: Int = .max, limits: ServerConnection.Limits = .init()
  ) async throws -> (text: String, served: [ServerConnection.Served]) {
    let test = try TestService()
    let service = test.service
    let (client, server) = MemoryChannel.pair(pieceLength: length)
    let served = Guarded<[ServerConnection.Served]>([])
    let connection = ServerConnection(
      server, limits: limits, onServed: { one in served.withLock { $0.append(one) } },
      answer: { service.respond(to: $0) })
    async let run: Void = connection.run()
    try await client.write(Array(text.utf8))
    client.endWriting()
    var answer: [UInt8] = []
    do { while let piece = try await client.read() { answer += piece } } catch {}
    await run
    return (String(decoding: answer, as: UTF8.self), served.withLock { $0 })
  }

  private func head(_ line: String, _ fields: String...) -> String {
    ([line, "Host: localhost:5984"] + fields).joined(separator: "\r\n") + "\r\n\r\n"
  }

  @Test(arguments: [1, 2, 7, 100, Int.max])
  func `requests in pieces of any size are answered in their order`(length: Int) async throws {
    let requests =
      head("PUT /notes/a HTTP/1.1", "Content-Length: 7") + #"{"n":1}"#
      + head("PUT /notes/b HTTP/1.1", "Transfer-Encoding: chunked") + "3\r\n{\"n\r\n4\r\n\":2}\r\n0\r\n\r\n"
      + head("GET /notes/b HTTP/1.1") + head("HEAD /notes/a HTTP/1.1") + head("GET /none HTTP/1.1")
    let (text, served) = try await exchange(requests, pieces: length)
    #expect(served.map(\.status) == [201, 201, 200, 200, 404])
    #expect(served.map(\.method) == ["PUT", "PUT", "GET", "HEAD", "GET"])
    #expect(text.contains(#""n":2}"#) && !text.contains("Connection: close"))
    #expect(text.components(of: "HTTP/1.1 ") == 5)
    // HEAD has the length of the body that it leaves out.
    #expect(served[3].length > 0 && text.components(of: "Content-Length: \(served[3].length)\r\n") >= 1)
  }

  @Test func `a refusal of HEAD has no body, which the client would take for the next response`() async throws
  {
    let foreign = "HEAD / HTTP/1.1\r\nHost: other\r\n\r\n"
    let (text, served) = try await exchange(foreign + head("GET /_up HTTP/1.1"))
    #expect(served.map(\.status) == [403, 200])
    #expect(!text.contains("forbidden") && text.components(of: "\r\n\r\nHTTP/1.1 200") == 1)
  }

  @Test func `a connection ends when the client asks for it`() async throws {
    let close = try await exchange(head("GET / HTTP/1.1", "Connection: close") + head("GET / HTTP/1.1"))
    #expect(close.served.count == 1 && close.text.contains("Connection: close"))
    let old = try await exchange("GET / HTTP/1.0\r\n\r\n" + head("GET / HTTP/1.1"))
    #expect(old.served.count == 1)
    let kept = try await exchange("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n" + head("GET / HTTP/1.1"))
    #expect(kept.served.count == 2 && kept.text.contains("Connection: keep-alive"))
  }

  @Test(arguments: [
    ("POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
    (
      "POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
      400
    ),
    ("POST /notes HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501),
    ("POST /notes HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
    ("GET  / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: localhost\r\n\r\n", 501),
    ("\u{1}\r\n\r\n", 400),
    ("GET / HTTP/1.1\r\nHost: localhost\r\nX: \(String(repeating: "x", count: 65 << 10))\r\n\r\n", 431),
  ])
  func `a message that violates HTTP is refused and ends the connection`(text: String, status: Int)
    async throws
  {
    let (answer, served) = try await exchange(text + head("GET / HTTP/1.1"))
    #expect(served.map(\.status) == [status])
    #expect(answer.contains("Connection: close"))
  }

  @Test(arguments: [false, true]) func `a body that is too long is refused`(isChunked: Bool) async throws {
    var limits = ServerConnection.Limits()
    limits.body = 8
    func put(_ body: String) -> String {
      isChunked
        ? head("PUT /notes/a HTTP/1.1", "Transfer-Encoding: chunked")
          + "\(body.count)\r\n\(body)\r\n0\r\n\r\n"
        : head("PUT /notes/a HTTP/1.1", "Content-Length: \(body.count)") + body
    }
    #expect(try await exchange(put(#"{"n":10}"#), limits: limits).served.map(\.status) == [201])
    #expect(try await exchange(put(#"{"n":100}"#), limits: limits).served.map(\.status) == [413])
  }

  @Test func `a client may wait for permission to send a body`() async throws {
    let test = try TestService()
    let service = test.service
    let (client, server) = MemoryChannel.pair()
    async let run: Void = ServerConnection(server) { service.respond(to: $0) }.run()
    try await client.write(
      Array(head("PUT /notes/a HTTP/1.1", "Content-Length: 2", "Expect: 100-continue").utf8))
    let interim = try #require(try await client.read())
    #expect(String(decoding: interim, as: UTF8.self) == "HTTP/1.1 100 Continue\r\n\r\n")
    try await client.write(Array("{}".utf8))
    let answer = try #require(try await client.read())
    #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 201 "))
    client.endWriting()
    await run
  }

  @Test(arguments: [
    "PUT /notes/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n\(String(repeating: "1", count: 2000))",
    "PUT /notes/a HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n",
  ])
  func `a chunk that is too long is too long a body, not a header`(text: String) async throws {
    #expect(try await exchange(text).served.map(\.status) == [413])
  }

  @Test func `a target may be a whole URL, whose host counts`() async throws {
    let requests =
      "GET http://localhost:5984/notes?x=1 HTTP/1.1\r\nHost: other\r\n\r\n"
      + "GET HTTP://LOCALHOST HTTP/1.1\r\nHost: other\r\n\r\n"
      + "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
      + "GET http:///notes HTTP/1.1\r\nHost: localhost\r\n\r\n" + head("GET * HTTP/1.1")
    let (_, served) = try await exchange(requests)
    #expect(served.map(\.status) == [200, 200, 403, 403, 400])
    #expect(served.map(\.target).prefix(2) == ["/notes?x=1", "/"])
  }

  @Test func `a request that arrives too slowly ends the connection`() async throws {
    var limits = ServerConnection.Limits()
    let start = ContinuousClock.now
    let time = Guarded(Duration.zero)
    // Each piece takes ten seconds.
    limits.now = {
      time.withLock { time in
        time += .seconds(10)
        return start + time
      }
    }
    let slow = head("GET /notes HTTP/1.1")
    #expect(
      try await exchange(slow, pieces: slow.utf8.count / 3, limits: limits).served.map(\.status) == [200])
    #expect(try await exchange(slow, pieces: 2, limits: limits).served.map(\.status) == [408])
    // A KiB a second is fast enough.
    let body = #"{"text":"\#(String(repeating: "x", count: 200_000))"}"#
    let long = head("PUT /notes/a HTTP/1.1", "Content-Length: \(body.utf8.count)") + body
    #expect(try await exchange(long, pieces: 11_000, limits: limits).served.map(\.status) == [201])
    #expect(try await exchange(long, pieces: 5_000, limits: limits).served.map(\.status) == [408])
  }

  @Test func `bodies of all connections share their memory`() async throws {
    var limits = ServerConnection.Limits()
    limits.bodies = BodyBudget(10)
    let put = head("PUT /notes/a HTTP/1.1", "Content-Length: 7") + #"{"n":1}"#
    let other = head("PUT /notes/b HTTP/1.1", "Content-Length: 7") + #"{"n":1}"#
    let long = head("PUT /notes/c HTTP/1.1", "Content-Length: 11") + #"{"n":10000}"#
    #expect(try await exchange(put + other + long, limits: limits).served.map(\.status) == [201, 201, 503])
    // A connection that was cut off has given its part back.
    _ = try await exchange(String(put.dropLast()), limits: limits)
    #expect(try await exchange(put, limits: limits).served.map(\.status) == [201])
  }

  // MARK: - Feeds

  /// Begins a feed, and returns the part that the client has read so far.
  private func beginFeed(
    _ test: TestService, _ served: Guarded<[ServerConnection.Served]>
  ) async throws -> (client: MemoryChannel, run: Task<Void, Never>) {
    let service = test.service
    let (client, server) = MemoryChannel.pair()
    let connection = ServerConnection(
      server, onServed: { one in served.withLock { $0.append(one) } }, answer: { service.respond(to: $0) })
    let run = Task { await connection.run() }
    try await client.write(
      Array(head("GET /notes/_changes?feed=longpoll&since=now&heartbeat=60000 HTTP/1.1").utf8))
    let start = try #require(try await client.read())
    #expect(String(decoding: start, as: UTF8.self).hasPrefix("HTTP/1.1 200 OK"))
    return (client, run)
  }

  @Test func `a feed ends when its client is gone`() async throws {
    let served = Guarded<[ServerConnection.Served]>([])
    let (client, run) = try await beginFeed(TestService(), served)
    client.endWriting()
    await run.value
    #expect(served.withLock { $0.map(\.status) } == [200])
  }

  @Test func `a request that is sent while a feed waits is answered after it`() async throws {
    let served = Guarded<[ServerConnection.Served]>([])
    let test = try TestService()
    let (client, run) = try await beginFeed(test, served)
    try await client.write(Array(head("GET /notes/a HTTP/1.1", "Connection: close").utf8))
    #expect(try test.send("PUT", "/notes/a", "{}").status == 201)
    var text = ""
    do { while let piece = try await client.read() { text += String(decoding: piece, as: UTF8.self) } } catch
    {}
    await run.value
    #expect(served.withLock { $0.map(\.target).last } == "/notes/a")
    #expect(text.contains("0\r\n\r\nHTTP/1.1 200 OK") && text.contains(#""_id":"a""#))
  }

  @Test(
    arguments: [
      ("localhost", nil, 200), ("LOCALHOST:5984", nil, 200), ("127.0.0.1:1", nil, 200),
      ("[::1]:80", nil, 200),
      ("[::1]", nil, 200), ("evil.example", nil, 403), ("localhost.evil.example", nil, 403),
      ("127.0.0.1.evil.example:5984", nil, 403), ("localhost:x", nil, 403),
      ("evil.example:localhost", nil, 403),
      ("", nil, 403), ("localhost", "http://localhost:3000", 200), ("localhost", "https://[::1]", 200),
      ("localhost", "http://evil.example", 403), ("localhost", "null", 403), ("localhost", "file://", 403),
      ("localhost", "http:/localhost", 403),
    ] as [(String, String?, Int)])
  func `a page from elsewhere cannot use the server`(host: String, origin: String?, status: Int) async throws
  {
    let field = origin.map { "Origin: \($0)\r\n" } ?? ""
    let (text, served) = try await exchange("GET /notes HTTP/1.1\r\nHost: \(host)\r\n\(field)\r\n")
    #expect(served.map(\.status) == [status])
    #expect(text.contains("db_name") == (status == 200))
  }
}

extension String {
  /// The number of times that a text occurs.
  fileprivate func components(of text: String) -> Int {
    split(separator: text, omittingEmptySubsequences: false).count - 1
  }
}
