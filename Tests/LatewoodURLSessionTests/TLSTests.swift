import Foundation
import LatewoodHTTP
import LatewoodHTTPScripts
import LatewoodNetwork
import LatewoodURLSession
import Testing

/// No test ends by a timeout: a task may wait for its turn for as long as the other tests take.
private let aDay = Duration.seconds(86_400)

/// `Tests/tls.sh` makes the certificates and trusts their authority.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["LATEWOOD_TLS"] != nil))
struct TLSTests {
  /// A server with TLS: `Tests/tls/proxy.py` in front of a scripted one.
  private final class Server {
    let listener: SocketListener
    let port: UInt16
    private let proxy = Process()
    /// The proxy ends with it.
    private let input = Pipe()

    init(_ certificate: String, _ server: ScriptedServer) throws {
      listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
        Task { await server.serve(channel) }
      }
      let directory = try #require(ProcessInfo.processInfo.environment["LATEWOOD_TLS"])
      let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../tls/proxy.py")
      let output = Pipe()
      proxy.executableURL = URL(filePath: "/usr/bin/env")
      proxy.arguments = ["python3", script.path, directory, certificate, "\(listener.port)"]
      proxy.standardInput = input
      proxy.standardOutput = output
      proxy.standardError = FileHandle.nullDevice
      try proxy.run()
      let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
      port = try #require(UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    deinit { proxy.terminate() }

    func client(_ host: String = "localhost") -> URLSessionTransport {
      URLSessionTransport(origin: HTTPOrigin(isSecure: true, host: host, port: port), timeout: 86_400)
    }
  }

  private static let hello = HTTPRequest("GET", HTTPTarget(["hello"]))

  @Test func `a certificate of a trusted authority is accepted`() async throws {
    let scripted = ScriptedServer { ScriptedResponse(200, $0.body) }
    let server = try Server("good", scripted)
    for host in ["localhost", "127.0.0.1"] {
      let client = server.client(host)
      for count in [0, 100_000, 2_000_000] {
        let body = [UInt8](repeating: 7, count: count)
        var request = HTTPRequest("POST", HTTPTarget(["a"]), body: .bytes(body))
        for isLong in [false, true] {
          request.expectsLongBody = isLong
          #expect(try await client.send(request).collect(limit: count) == body)
        }
      }
    }
    #expect(scripted.requests.count == 12)
  }

  @Test(arguments: [
    ("host", "the certificate of the server is for another host"),
    ("expired", "the certificate of the server has expired, or is not valid yet"),
    ("own", "the certificate of the server is from an authority that is not trusted here"),
  ])
  func `every other certificate is refused before a request is sent`(
    certificate: String, reason: String
  ) async throws {
    let scripted = ScriptedServer { _ in ScriptedResponse(200, []) }
    let server = try Server(certificate, scripted)
    var request = Self.hello
    request.fields.add("Authorization", "Basic secret")
    for isLong in [false, true] {
      request.expectsLongBody = isLong
      let error = await #expect(throws: HTTPError.self) { _ = try await server.client().send(request) }
      #expect(error == HTTPError(.insecure, reason))
    }
    #expect(scripted.requests.isEmpty)
  }

  @Test func `a server without TLS is refused`() async throws {
    let scripted = ScriptedServer { _ in ScriptedResponse(200, []) }
    let listener = try SocketListener(host: "127.0.0.1", port: 0, timeout: aDay) { channel in
      Task { await scripted.serve(channel) }
    }
    let client = URLSessionTransport(
      origin: HTTPOrigin(isSecure: true, host: "127.0.0.1", port: listener.port), timeout: 86_400)
    let error = await #expect(throws: HTTPError.self) { _ = try await client.send(Self.hello) }
    #expect(error?.kind == .insecure)
    #expect(scripted.requests.isEmpty)
  }
}
