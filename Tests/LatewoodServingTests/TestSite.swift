import LatewoodConcurrency
import LatewoodCrypto
import LatewoodHTTP
import LatewoodHTTPScripts
import Testing

@testable import LatewoodServing

/// A service with users, behind a gate, to which connections in memory lead. Its clock stands still
/// unless a test moves it.
struct TestSite {
  let test: TestService
  let users: UserDirectory
  private let gate: RequestGate
  private let time: Guarded<UInt64>

  /// The users `admin` with the password `secret`, who may do everything, and `ann` with `pw`.
  static func accounts() throws -> [UserAccount] {
    func account(_ name: String, _ roles: [String], _ password: String) throws -> UserAccount {
      let password = Array(password.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
      // Fewer than a file can have, because these tests check many passwords.
      return try UserAccount(
        name: name, roles: roles, password: PasswordHash(of: password, salt: "salt", rounds: 2))
    }
    return [try account("admin", ["_admin"], "secret"), try account("ann", ["reader"], "pw")]
  }

  /// - Parameter key: the byte of which the secret of the process consists.
  init(
    _ origins: AllowedOrigins = .loopback, isBehindProxy: Bool = false, key: UInt8 = 1
  ) throws {
    let time = Guarded<UInt64>(1_795_341_104)
    self.time = time
    let secret = Array(repeating: key, count: 32).withUnsafeBytes { SecretBytes(copying: $0) }
    users = UserDirectory(
      try TestSite.accounts(), secret: secret,
      environment: Environment(now: { time.withLock { $0 } * 1_000_000 }, random: { 1 }))
    test = try TestService(users: users)
    gate = RequestGate(origins, users: users, isBehindProxy: isBehindProxy)
  }

  /// Moves the clock.
  func pass(seconds: UInt64) { time.withLock { $0 += seconds } }

  /// Sends bytes over a connection, and returns everything that comes back before it ends.
  func exchange(
    _ text: String, from address: String = "192.0.2.1", limits: ServerConnection.Limits = .init()
  ) async throws -> (text: String, served: [ServerConnection.Served]) {
    let (client, server) = MemoryChannel.pair()
    let served = Guarded<[ServerConnection.Served]>([])
    let connection = ServerConnection(
      server, from: address, limits: limits, gate: gate,
      onServed: { one in served.withLock { $0.append(one) } },
      answer: { [service = test.service] in await service.answer($0) })
    async let run: Void = connection.run()
    try await client.write(Array(text.utf8))
    client.endWriting()
    var answer: [UInt8] = []
    do { while let piece = try await client.read() { answer += piece } } catch {}
    await run
    return (String(decoding: answer, as: UTF8.self), served.withLock { $0 })
  }

  /// Sends one request with a body in JSON.
  func send(
    _ line: String, _ fields: String..., body: String = "", from address: String = "192.0.2.1"
  ) async throws -> Answer {
    let head = [
      "\(line) HTTP/1.1", "Host: localhost:5984", "Content-Length: \(body.utf8.count)",
      "Content-Type: application/json",
    ]
    let text = (head + fields).joined(separator: "\r\n") + "\r\n\r\n" + body
    let (answer, served) = try await exchange(text, from: address)
    return Answer(text: answer, status: try #require(served.first).status, user: served.first?.user)
  }

  struct Answer {
    var text: String
    var status: Int
    var user: String?

    /// Returns the value of a field; nil if there is none.
    func field(_ name: String) -> String? {
      text.split(separator: "\r\n").first { $0.hasPrefix(name + ": ") }.map {
        String($0.dropFirst(name.count + 2))
      }
    }

    /// The field Cookie for the next request.
    var cookie: String? {
      field("Set-Cookie").flatMap { $0.split(separator: ";").first }.map { "Cookie: other=1; \($0)" }
    }
  }

  /// The field for a name and a password.
  static func basic(_ name: String, _ password: String) -> String {
    "Authorization: \(BasicCredentials(name: name, password: password).authorization)"
  }
}
