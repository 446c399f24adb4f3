import LatewoodCrypto
import LatewoodServing

extension OptionDescription {
  static let port = OptionDescription(
    name: "--port", value: "NUMBER", summary: "the port to listen on; 0 for any free port; 5984 if not given")
  static let createDatabase = OptionDescription(
    name: "--create", summary: "create the file if it does not exist")
  static let usersFile = OptionDescription(
    name: "--users", value: "FILE", summary: "require the password of a user in this file (see users)")
  static let listen = OptionDescription(
    name: "--listen", value: "ADDRESS", summary: "the address to listen on; 127.0.0.1 if not given")
  static let insecureHTTP = OptionDescription(
    name: "--insecure-http", summary: "let other machines connect without encryption")
  static let behindProxy = OptionDescription(
    name: "--behind-proxy", summary: "all connections come from a proxy, which has TLS")
  static let hostName = OptionDescription(
    name: "--host-name", value: "HOST", summary: "also answer requests to this name; may be repeated",
    repeats: true)
  static let cors = OptionDescription(
    name: "--cors", value: "ORIGIN", summary: "let web pages of this origin use the server; may be repeated",
    repeats: true)
}

/// Who may use a server, as the options of `serve` say: its address, its users, and its gate.
struct ServeOptions {
  /// The address to listen on.
  let host: String
  let port: UInt16
  let users: UserDirectory?
  let gate: RequestGate

  init(_ arguments: Arguments) throws {
    let number = try arguments.number(of: .port) ?? 5984
    guard let port = UInt16(exactly: number) else { throw Failure.usage("--port is a number up to 65535") }
    self.port = port
    let address = try arguments.text(of: .listen) ?? DatabaseServer.loopback
    host = address == "localhost" ? DatabaseServer.loopback : address
    users = try arguments.text(of: .usersFile).map { try ServeOptions.users(in: $0) }
    try ServeOptions.check(arguments, host: host)
    var hosts = AllowedOrigins.loopbackHosts.union(try arguments.texts(of: .hostName))
    hosts.insert(ServeOptions.inURL(host))
    let origins = try ServeOptions.origins(arguments)
    gate = RequestGate(
      AllowedOrigins(
        hosts: hosts, allowsAddresses: ["0.0.0.0", "::"].contains(host), sharedWith: origins),
      users: users, isBehindProxy: arguments.has(.behindProxy))
  }

  /// The URL of the server.
  func url(port: UInt16) -> String { "http://\(ServeOptions.inURL(host)):\(port)/" }

  private static func inURL(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

  private static func users(in path: String) throws -> UserDirectory {
    let accounts = try UsersFile.read(path).accounts
    guard !accounts.isEmpty else {
      throw Failure(
        .badInput, code: "noUsers", "the file has no users",
        advice: "Add one: `latewood users set FILE NAME --admin`.", path: path)
    }
    return UserDirectory(accounts, secret: try SecretBytes.random(count: 32))
  }

  /// Checks that nobody else reads along or gets in by mistake.
  private static func check(_ arguments: Arguments, host: String) throws {
    if arguments.has(.behindProxy), arguments.has(.insecureHTTP) {
      throw Failure.usage("--behind-proxy and --insecure-http do not go together")
    }
    let addUsers = "Create a file of users with `latewood users set FILE NAME --admin`, and add --users FILE."
    if arguments.has(.behindProxy), !arguments.has(.usersFile) {
      throw Failure.usage("everybody who reaches the proxy could change everything", advice: addUsers)
    }
    guard !isLoopback(host) else { return }
    guard arguments.has(.usersFile) else {
      throw Failure.usage(
        "everybody who reaches \(Arguments.quoted(Array(host.utf8))) could change everything",
        advice: addUsers)
    }
    guard arguments.has(.behindProxy) || arguments.has(.insecureHTTP) else {
      throw Failure.usage(
        "passwords and documents would cross the network unencrypted",
        advice:
          "Put a proxy with TLS in front of the server and add --behind-proxy, or add --insecure-http if "
          + "everybody on this network may read along.")
    }
  }

  /// Whether only this machine reaches an address.
  private static func isLoopback(_ host: String) -> Bool {
    if host == "::1" { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
  }

  private static func origins(_ arguments: Arguments) throws -> [String] {
    let given = try arguments.texts(of: .cors)
    if given.contains("*"), !arguments.has(.usersFile) {
      throw Failure.usage(
        "with --cors '*' and without users, every web page that you visit could change everything",
        advice: "Name the origins of your pages, such as --cors http://localhost:3000, or add --users FILE.")
    }
    return try given.map { text in
      if text == "*" { return text }
      guard let origin = AllowedOrigins.normalized(text) else {
        throw Failure.usage(
          "--cors needs an origin, not \(Arguments.quoted(Array(text.utf8)))",
          advice: "An origin is a scheme, a host and perhaps a port: https://app.example.org.")
      }
      return origin
    }
  }
}
