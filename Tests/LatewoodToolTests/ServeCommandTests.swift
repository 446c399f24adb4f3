import LatewoodDevice
import LatewoodDocuments
import LatewoodHTTP
import LatewoodNetwork
import LatewoodServing
import LatewoodTerminal
import Testing

@testable import LatewoodTool

@Suite struct ServeCommandTests {
  @Test func `programs of this machine read and write documents`() async throws {
    let store = try DocumentStore.inMemory()
    let server = try DatabaseServer(
      DatabaseService(store, .init(version: "0.0.0")), port: 0, timeout: .seconds(86_400)
    ) { _ in }
    var connector = SocketConnector()
    connector.timeout = .seconds(86_400)
    let client = HTTPClient(
      origin: HTTPOrigin(host: DatabaseServer.host, port: server.port), connector: connector)
    let json = HTTPFields([("Content-Type", "application/json")])
    func send(_ method: String, _ path: [String], _ body: String) async throws -> (Int, String) {
      let response = try await client.send(
        HTTPRequest(method, HTTPTarget(path), fields: json, body: .bytes(Array(body.utf8))))
      return (
        response.head.status, String(decoding: try await response.collect(limit: 1 << 20), as: UTF8.self)
      )
    }
    #expect(try await send("PUT", ["notes"], "").0 == 201)
    #expect(try await send("PUT", ["notes", "a/b"], #"{"n":1}"#).0 == 201)
    let (status, text) = try await send("GET", ["notes", "a/b"], "")
    #expect(status == 200 && text.contains(#""n":1"#))
    let collection = try #require(try store.collection("notes"))
    #expect(try store.reads(collection).document("a/b") != nil)
    client.close()
    server.close()
    try store.close()
  }

  @Test func `the command opens the file and says where it listens`() throws {
    let tool = try ToolRun()
    #expect(try tool("doc", "put", "@", "a", "{}").code == .success)
    let first = try tool.serving("@", "--port", "0")
    #expect(first.output.hasPrefix("Serving ") && first.output.hasSuffix("/\n"))
    let port = first.run.server.port
    let other = "\(tool.directory)/other.latewood"
    let second = try tool("serve", other, "--create", "--port", "\(port)")
    #expect(second.code == .cannotOpen && second.error.contains("--port"))
    try first.run.close()
    #expect(try tool("doc", "get", "@", "a").code == .success)
  }

  @Test(
    arguments: [
      (["serve"], ExitCode.usage), (["serve", "none.latewood", "--port", "0"], .cannotOpen),
      (["serve", "@", "--port", "65536"], .usage), (["serve", "@", "--port", "x"], .usage),
    ] as [([String], ExitCode)])
  func `wrong operands are refused`(arguments: [String], code: ExitCode) throws {
    let tool = try ToolRun()
    #expect(try tool("doc", "put", "@", "a", "{}").code == .success)
    #expect(try tool.run(arguments).code == code)
  }
}

extension ToolRun {
  /// Begins to serve, and returns what the command has printed by then.
  fileprivate func serving(_ arguments: String...) throws -> (run: ServeRun, output: String) {
    let volume = MemoryVolume()
    let devices = try ["out", "err"].map { try volume.open($0, .createExclusive(permissions: 0o600)) }
    let console = Console(
      input: ByteInput(descriptor: -1), output: Output(devices[0]), error: Output(devices[1]))
    let bytes = arguments.map { Array(($0 == "@" ? path : $0).utf8) }
    let run = try ServeRun(Arguments(bytes[...], for: .serve), console)
    var text = [UInt8](repeating: 0, count: Int(try devices[0].size()))
    let count = try text.withUnsafeMutableBytes { try devices[0].read(into: $0, at: 0) }
    return (run, String(decoding: text[..<count], as: UTF8.self))
  }
}
