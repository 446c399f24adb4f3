import LatewoodConcurrency
import LatewoodHTTP
import LatewoodHTTPScripts
import Testing

@testable import LatewoodNetwork

/// No test ends by a timeout: a task may wait for its turn for as long as the other tests take.
private let aDay = Duration.seconds(86_400)

@Suite struct SocketTests {
  /// Connects without a timeout that matters.
  private var patient: SocketConnector {
    var connector = SocketConnector()
    connector.timeout = aDay
    return connector
  }

  private func listener(_ server: ScriptedServer, host: String = "127.0.0.1") throws -> SocketListener {
    try SocketListener(host: host, port: 0, timeout: aDay) { channel in
      Task { await server.serve(channel) }
    }
  }

  @Test func `a client talks to a server over a socket`() async throws {
    let server = ScriptedServer { ScriptedResponse(200, $0.body, isChunked: true) }
    let listener = try listener(server)
    let client = HTTPClient(
      origin: HTTPOrigin(host: "localhost", port: listener.port), connector: patient)
    for count in [0, 1, 100_000, 3_000_000] {
      let body = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
      let response = try await client.send(HTTPRequest("POST", HTTPTarget(["a"]), body: .bytes(body)))
      #expect(try await response.collect(limit: count) == body)
    }
    #expect(client.connectionCount == 1)
  }

  @Test func `many requests run at the same time`() async throws {
    let server = ScriptedServer { ScriptedResponse(200, Array($0.target.segments[0].utf8)) }
    let listener = try listener(server)
    let client = HTTPClient(
      origin: HTTPOrigin(host: "127.0.0.1", port: listener.port), connector: patient)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for number in 0..<100 {
        group.addTask {
          let response = try await client.send(HTTPRequest("GET", HTTPTarget(["\(number)"])))
          return try await response.collect(limit: 100) == Array("\(number)".utf8)
        }
      }
      for try await isEqual in group { #expect(isEqual) }
    }
    #expect(client.connectionCount <= HTTPClient.idleLimit)
  }

  @Test func `a writer waits for a peer that does not read`() async throws {
    let accepted = Guarded<SocketChannel?>(nil)
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
      accepted.withLock { $0 = channel }
    }
    let channel = try await patient.connect(to: HTTPOrigin(host: "127.0.0.1", port: listener.port))
    let written = Guarded(0)
    let piece = [UInt8](repeating: 7, count: 1 << 20)
    let writer = Task {
      for _ in 0..<64 {
        try await channel.write(piece)
        written.withLock { $0 += 1 }
      }
      channel.close()
    }
    var reader: SocketChannel?
    while reader == nil {
      reader = accepted.withLock { $0 }
      await Task.yield()
    }
    let peer = try #require(reader)
    var read = 0
    while let bytes = try await peer.read() {
      read += bytes.count
      // The buffers of both sides hold a few mebibytes at most.
      #expect(written.withLock { $0 } << 20 <= read + 16 << 20)
    }
    try await writer.value
    #expect(read == 64 << 20)
  }

  @Test func `a read from a peer that sends nothing fails after the timeout`() async throws {
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { _ in }
    let held = Guarded<[SocketChannel]>([])
    let silent = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
      held.withLock { $0.append(channel) }
    }
    var connector = SocketConnector()
    connector.timeout = .milliseconds(50)
    let channel = try await connector.connect(to: HTTPOrigin(host: "127.0.0.1", port: silent.port))
    do {
      _ = try await channel.read()
      Issue.record("something was read")
    } catch let error as HTTPError { #expect(error.kind == .timedOut) }
    withExtendedLifetime(listener) {}
  }

  @Test func `a connection that is refused is an error`() async throws {
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { _ in }
    let origin = HTTPOrigin(host: "127.0.0.1", port: listener.port)
    listener.close()
    // The socket is closed on another queue.
    for _ in 0..<1000 {
      do {
        let channel = try await patient.connect(to: origin)
        channel.close()
        await Task.yield()
      } catch let error as HTTPError {
        #expect(error.kind == .notConnected)
        return
      }
    }
    Issue.record("the socket still accepts")
  }

  @Test func `a name that does not exist and a secure origin are errors`() async throws {
    for origin in [
      HTTPOrigin(host: String(repeating: "x", count: 64) + ".invalid", port: 1),
      HTTPOrigin(isSecure: true, host: "127.0.0.1", port: 1),
    ] {
      do {
        _ = try await patient.connect(to: origin)
        Issue.record("connected")
      } catch let error as HTTPError {
        #expect(error.kind == (origin.isSecure ? .unsupported : .notConnected))
      }
    }
  }

  @Test func `cancelling and closing end a read`() async throws {
    let held = Guarded<[SocketChannel]>([])
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
      held.withLock { $0.append(channel) }
    }
    let origin = HTTPOrigin(host: "127.0.0.1", port: listener.port)
    for closes in [false, true] {
      let channel = try await patient.connect(to: origin)
      let task = Task { try await channel.read() }
      await Task.yield()
      if closes { channel.close() } else { task.cancel() }
      await #expect(throws: HTTPError.self) { try await task.value }
      channel.close()
      await #expect(throws: HTTPError.self) { try await channel.write([1]) }
    }
  }

  @Test(arguments: ["127.0.0.1", "::1"])
  func `a connection knows the address of its other end`(host: String) async throws {
    let (peers, found) = AsyncStream.makeStream(of: String.self)
    let listener: SocketListener
    do {
      listener = try SocketListener(host: host, port: 0, timeout: aDay) { found.yield($0.peer) }
    } catch {
      // The machine has no IPv6.
      if host == "::1" { return }
      throw error
    }
    let channel = try await patient.connect(to: HTTPOrigin(host: host, port: listener.port))
    var iterator = peers.makeAsyncIterator()
    #expect(await iterator.next() == host)
    channel.close()
    listener.close()
  }

  @Test func `a listener with a wrong address is an error`() throws {
    #expect(throws: HTTPError.self) { try SocketListener(host: "example.invalid", port: 0) { _ in } }
    #expect(throws: HTTPError.self) { try SocketListener(host: "203.0.113.1", port: 0) { _ in } }
    let first = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { _ in }
    #expect(throws: HTTPError.self) { try SocketListener(host: "127.0.0.1", port: first.port) { _ in } }
  }
}
