import LatewoodConcurrency
import LatewoodHTTPScripts
import Testing

@testable import LatewoodHTTP

@Suite struct HTTPClientTests {
  private let origin = HTTPOrigin(host: "example.com", port: 5984)

  private func get(_ client: HTTPClient, _ path: String = "a") async throws -> String {
    let response = try await client.send(HTTPRequest("GET", HTTPTarget([path])))
    return String(decoding: try await response.collect(limit: 1000), as: UTF8.self)
  }

  @Test(arguments: [1, 7, Int.max])
  func `a request reuses the connection of the previous one`(pieceLength: Int) async throws {
    let server = ScriptedServer(pieceLength: pieceLength) { request in
      ScriptedResponse(
        200, Array("<\(request.target.segments)>".utf8), isChunked: request.head.method == "PUT")
    }
    let client = HTTPClient(origin: origin, connector: server)
    for _ in 0..<3 { #expect(try await get(client) == "<[\"a\"]>") }
    let body = HTTPBody.bytes(Array(repeating: 7, count: 300_000))
    let response = try await client.send(HTTPRequest("PUT", HTTPTarget(["b"]), body: body))
    #expect(try await response.collect(limit: 100) == Array("<[\"b\"]>".utf8))
    #expect(server.connectionCount == 1)
    #expect(server.requests.map(\.head.method) == ["GET", "GET", "GET", "PUT"])
    #expect(server.requests[3].body.count == 300_000)
    #expect(server.requests[0].head.fields["host"] == "example.com:5984")
  }

  @Test func `a response that is not read to its end closes the connection`() async throws {
    let server = ScriptedServer { _ in ScriptedResponse(200, Array(repeating: 1, count: 5000)) }
    let client = HTTPClient(origin: origin, connector: server)
    try await client.send(HTTPRequest("GET", HTTPTarget(["a"]))).close()
    await #expect(throws: HTTPError.self) { try await get(client) }
    #expect(client.connectionCount == 0)
    let response = try await client.send(HTTPRequest("GET", HTTPTarget(["a"])))
    #expect(try await response.collect(limit: 5000).count == 5000)
    #expect(server.connectionCount == 3)
    #expect(client.connectionCount == 1)
  }

  @Test func `a connection that was closed while idle is replaced`() async throws {
    let count = Guarded(0)
    let server = ScriptedServer { _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      return ScriptedResponse(200, Array("\(number)".utf8), fault: number == 2 ? .closesBefore : .none)
    }
    let client = HTTPClient(origin: origin, connector: server)
    #expect(try await get(client) == "1")
    #expect(try await get(client) == "3")
    #expect(server.connectionCount == 2)
  }

  @Test func `a fresh connection that is closed is an error`() async throws {
    let server = ScriptedServer { _ in ScriptedResponse(200, [], fault: .closesBefore) }
    let client = HTTPClient(origin: origin, connector: server)
    await #expect(throws: HTTPError(.connectionLost, "the server closed the connection")) {
      try await get(client)
    }
    #expect(server.requests.count == 1 && client.connectionCount == 0)
  }

  @Test func `a response that is cut at any byte is an error`() async throws {
    let server = ScriptedServer { request in
      let cut = Int(request.target.segments[0]) ?? 0
      return ScriptedResponse(200, Array("0123456789".utf8), isChunked: cut % 2 == 0, fault: .cutAfter(cut))
    }
    let client = HTTPClient(origin: origin, connector: server)
    for cut in 0..<40 {
      await #expect(throws: HTTPError.self) { try await get(client, "\(cut)") }
    }
    #expect(client.connectionCount == 0)
  }

  private actor Pieces: HTTPBodySource {
    private var left: Int
    private(set) var taken = 0

    init(_ count: Int) { left = count }

    func next() -> [UInt8]? {
      guard left > 0 else { return nil }
      left -= 1
      taken += 1
      return Array(repeating: 1, count: 10_000)
    }
  }

  @Test func `a body is streamed with its length or in chunks`() async throws {
    let server = ScriptedServer { ScriptedResponse(200, Array("\($0.body.count)".utf8)) }
    let client = HTTPClient(origin: origin, connector: server)
    for length in [UInt64(300_000), nil] {
      let body = HTTPBody.stream(Pieces(30), length: length)
      let response = try await client.send(HTTPRequest("PUT", HTTPTarget(["a"]), body: body))
      #expect(try await response.collect(limit: 10) == Array("300000".utf8))
    }
    #expect(server.connectionCount == 1)
  }

  @Test func `a connection is not used again after a streamed body was refused`() async throws {
    let server = ScriptedServer { ScriptedResponse($0.body.isEmpty ? 200 : 500, []) }
    let client = HTTPClient(origin: origin, connector: server)
    let request = HTTPRequest("PUT", HTTPTarget(["a"]), body: .stream(Pieces(1), length: 10_000))
    let response = try await client.send(request)
    #expect(try await response.collect(limit: 0).isEmpty)
    #expect(client.connectionCount == 0)
    #expect(try await get(client).isEmpty && server.connectionCount == 2)
  }

  private struct Broken: HTTPBodySource {
    struct Failure: Error {}
    func next() async throws -> [UInt8]? { throw Failure() }
  }

  @Test func `an error of the source ends the request`() async throws {
    let server = ScriptedServer { _ in ScriptedResponse(200, []) }
    let client = HTTPClient(origin: origin, connector: server)
    let request = HTTPRequest("PUT", HTTPTarget(["a"]), body: .stream(Broken(), length: nil))
    await #expect(throws: Broken.Failure.self) { try await client.send(request) }
    #expect(server.requests.isEmpty && client.connectionCount == 0)
  }

  @Test func `closing the client ends a request that waits`() async throws {
    let server = ScriptedServer { _ in
      // Longer than any test: the task is cancelled when the connection ends, or never.
      try? await Task.sleep(for: .seconds(1000))
      return ScriptedResponse(200, [])
    }
    let client = HTTPClient(origin: origin, connector: server)
    let task = Task { try await get(client) }
    while client.connectionCount == 0 { await Task.yield() }
    client.close()
    await #expect(throws: HTTPError.self) { try await task.value }
    await #expect(throws: HTTPError.self) { try await get(client) }
  }

  @Test func `cancelling the task ends a request that waits`() async throws {
    let server = ScriptedServer { _ in
      try? await Task.sleep(for: .seconds(1000))
      return ScriptedResponse(200, [])
    }
    let client = HTTPClient(origin: origin, connector: server)
    let task = Task { try await get(client) }
    while server.requests.isEmpty { await Task.yield() }
    task.cancel()
    await #expect(throws: HTTPError.self) { try await task.value }
    #expect(client.connectionCount == 0)
  }
}
