import LatewoodCrypto
import LatewoodDevice
import LatewoodDocuments
import LatewoodHTTP
import LatewoodNetwork
import LatewoodTerminal
import Testing

@testable import LatewoodServing
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
      origin: HTTPOrigin(host: DatabaseServer.loopback, port: server.port), connector: connector)
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

  @Test func `users are written by one command and served by another`() async throws {
    let directory = try ToolDirectory()
    let (users, database) = (directory.file("users"), directory.file("db"))
    func set(_ name: String, _ password: String, _ options: String...) throws -> Int32? {
      let secret = Array(password.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
      let arguments =
        ["users", "set", users, name, "--rounds", "1000", "--password-fd"]
        + ["\(SystemCalls.secretDescriptor)"] + options
      return try ChildProcess.run(
        BuiltTool.path(), arguments: arguments.map { Array($0.utf8) }, hasInput: false, secret: secret)
    }
    #expect(try set("admin", "old", "--admin") == 0)
    #expect(try set("ann", "pw", "--role", "a", "--role", "b") == 0)
    // Another password, the same roles.
    #expect(try set("admin", "new") == 0)
    #expect(try set("a:b", "pw") != 0)
    let listed = BuiltTool.run(["users", users])
    #expect(listed.output == "admin  _admin\nann  a  b\n", "\(listed)")
    #expect(BuiltTool.run(["users", users, "--json"]).output.contains(#"{"name":"ann","roles":["a","b"]}"#))
    #expect(BuiltTool.run(["users", "remove", users, "bo"]).code == .no)
    let tool = try ToolRun()
    let (run, output) = try tool.serving(
      database, "--create", "--port", "0", "--users", users, "--listen", "0.0.0.0", "--insecure-http")
    #expect(output.hasPrefix("Serving ") && output.contains(" at http://0.0.0.0:"))
    var connector = SocketConnector()
    connector.timeout = .seconds(86_400)
    let client = HTTPClient(
      origin: HTTPOrigin(host: DatabaseServer.loopback, port: run.server.port), connector: connector)
    for (name, password, status) in [
      ("admin", "old", 401), ("admin", "new", 200), ("ann", "pw", 403), ("bo", "pw", 401),
    ] {
      let credentials = BasicCredentials(name: name, password: password)
      let fields = HTTPFields([("Authorization", credentials.authorization)])
      let response = try await client.send(HTTPRequest("GET", HTTPTarget(["_all_dbs"]), fields: fields))
      _ = try await response.collect(limit: 1 << 20)
      #expect(response.head.status == status, "\(name) \(password)")
    }
    client.close()
    try run.close()
    #expect(BuiltTool.run(["users", "remove", users, "admin"]).code == .success)
    #expect(try directory.bytes(of: "users").starts(with: "ann:a,b:pbkdf2-sha256:1000:".utf8))
  }

  @Test func `a file of users that others may read is refused`() throws {
    let directory = try ToolDirectory()
    let device = try FileVolume().open(directory.file("users"), .createExclusive(permissions: 0o644))
    device.close()
    let result = BuiltTool.run(["users", directory.file("users")])
    #expect(result.code == .cannotOpen && result.error.contains("chmod 600"), "\(result)")
    try directory.write(Array("# none\n\nann:x\n".utf8), to: "other")
    let broken = BuiltTool.run(["serve", directory.file("db"), "--users", directory.file("other")])
    #expect(broken.code == .badInput && broken.error.contains("line 3"), "\(broken)")
    #expect(try !FileVolume().exists(directory.file("db")))
  }

  @Test func `lines for programs and for people are bounded, and their number, too`() throws {
    let lines = ServedLines()
    let served = ServerConnection.Served(
      method: "GET", target: "/" + String(repeating: "x", count: 20_000), status: 200, length: 7,
      user: "a\u{1b}b", address: "::1")
    for _ in 0..<(ServedLines.mostWaiting + 5) { lines.add(served) }
    let (waiting, omitted) = lines.next()
    #expect(waiting.count == ServedLines.mostWaiting && omitted == 5)
    lines.add(served)
    #expect(lines.next().served.count == 1)
    let console = Console(input: ByteInput(descriptor: -1), output: Output(), error: Output())
    try ServedLines.print(served, on: console)
    let text = String(decoding: console.output.take(), as: UTF8.self)
    #expect(text.hasPrefix("GET /xxx") && text.hasSuffix("... 200 7 0x611b62\n") && text.utf8.count < 600)
    console.printsJSON = true
    try ServedLines.print(served, on: console)
    let json = String(decoding: console.output.take(), as: UTF8.self)
    #expect(json.hasSuffix(#""status":200,"length":7,"user":"a\u001bb","address":"::1"}"# + "\n"), "\(json)")
  }

  @Test(
    arguments: [
      (["serve"], ExitCode.usage), (["serve", "none.latewood", "--port", "0"], .cannotOpen),
      (["serve", "@", "--port", "65536"], .usage), (["serve", "@", "--port", "x"], .usage),
      (["serve", "@", "--listen", "0.0.0.0"], .usage), (["serve", "@", "--listen", "::"], .usage),
      (["serve", "@", "--listen", "192.0.2.1", "--insecure-http"], .usage),
      (["serve", "@", "--listen", "127.0.0.1.example", "--insecure-http"], .usage),
      (["serve", "@", "--behind-proxy"], .usage), (["serve", "@", "--cors", "*"], .usage),
      (["serve", "@", "--cors", "example.org"], .usage), (["serve", "@", "--users", "none"], .cannotOpen),
      (["users"], .usage), (["users", "none"], .cannotOpen), (["users", "remove", "none", "x"], .cannotOpen),
      (["users", "set", "none", "x"], .usage), (["users", "set", "none", "x", "--rounds", "9"], .usage),
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
