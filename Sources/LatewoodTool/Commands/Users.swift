import LatewoodCrypto
import LatewoodDevice
import LatewoodServing

extension OptionDescription {
  static let role = OptionDescription(
    name: "--role", value: "ROLE", summary: "set: give the user this role; may be repeated", repeats: true)
  static let administrator = OptionDescription(
    name: "--admin", summary: "set: the user may do everything (the role _admin)")
  static let passwordInput = OptionDescription(
    name: "--password-fd", value: "NUMBER", summary: "set: read the password from this file descriptor")
  static let rounds = OptionDescription(
    name: "--rounds", value: "NUMBER",
    summary: "set: the rounds of PBKDF2; \(PasswordHash.usualRounds) if not given")
}

extension CommandDescription {
  static let users = CommandDescription(
    name: "users",
    summary: "list or change the users of a server",
    operands: [
      OperandDescription(name: "ACTION", summary: "list (the default), set or remove", isOptional: true),
      OperandDescription(
        name: "FILE", summary: "path of the file for serve --users", isOptional: true),
      OperandDescription(name: "NAME", summary: "set, remove: the name of the user", isOptional: true),
    ],
    options: [.administrator, .role, .passwordInput, .rounds],
    discussion: [
      "set adds a user, or changes the password and the roles of one; without --admin and --role, a user keeps the roles. "
        + "It creates the file if there is none, asks for the password on the terminal, twice, and never takes it "
        + "from an argument. serve reads the file when it starts.",
      "The file is text, with a line for each user: name:roles:pbkdf2-sha256:rounds:salt:key. The last three are "
        + "iterations, salt and derived_key of a user document of CouchDB, so users can be copied from there, if their "
        + "pbkdf2_prf is sha256. Lines that begin with # are remarks. Only the owner may access the file (mode 0600); "
        + "serve refuses it otherwise.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood users set server.users ann --admin", explanation: "Asks for a password, twice."),
      ExampleDescription(line: "latewood users server.users", explanation: "All users and their roles."),
      ExampleDescription(
        line: "latewood serve people.latewood --users server.users",
        explanation: "Serve the file to these users only."),
    ],
    json: [#"list: {"users":[{"name":"NAME","roles":["ROLE", ...]}, ...]}"#]
  ) { arguments, console in
    let words = try ActionArguments(
      arguments, of: "users",
      [
        .init(name: "list", operands: ["FILE"]),
        .init(
          name: "set", operands: ["FILE", "NAME"],
          options: [.administrator, .role, .passwordInput, .rounds]),
        .init(name: "remove", operands: ["FILE", "NAME"]),
      ], usual: "list")
    let path = try words.text(0)
    switch words.action {
    case "set": try set(try words.text(1), path, arguments, console)
    case "remove":
      var file = try UsersFile.read(path)
      guard file.remove(try words.text(1)) else {
        throw Failure(.no, code: "noSuchUser", "the file has no user with this name", path: path)
      }
      try UsersFile.write(file, to: path)
    default: try list(UsersFile.read(path).accounts, console)
    }
    return .success
  }

  private static func list(_ accounts: [UserAccount], _ console: Console) throws {
    guard console.printsJSON else {
      if accounts.isEmpty { return try console.noteEmpty("There are no users.") }
      for account in accounts {
        try console.row(([account.name] + account.roles).joined(separator: "  "))
      }
      return
    }
    try console.object { writer in
      writer.key("users")
      writer.beginArray()
      for account in accounts {
        writer.beginDictionary()
        writer.member("name", account.name)
        writer.key("roles")
        writer.beginArray()
        for role in account.roles { writer.text(role) }
        writer.endArray()
        writer.endDictionary()
      }
      writer.endArray()
    }
  }

  private static func set(
    _ name: String, _ path: String, _ arguments: Arguments, _ console: Console
  ) throws {
    var file = try FileVolume().exists(path) ? UsersFile.read(path) : UserFile()
    let rounds = Int(try arguments.number(of: .rounds) ?? UInt64(PasswordHash.usualRounds))
    guard PasswordHash.roundLimits.contains(rounds) else {
      throw Failure.usage(
        "--rounds is a number from \(PasswordHash.roundLimits.lowerBound) to \(PasswordHash.roundLimits.upperBound)"
      )
    }
    var roles = try arguments.texts(of: .role)
    if arguments.has(.administrator) { roles.append(RequestUser.administratorRole) }
    if roles.isEmpty { roles = file[name]?.roles ?? [] }
    let password: SecretBytes
    if let number = try arguments.number(of: .passwordInput) {
      password = try PasswordInput.read(from: number, .passwordInput)
    } else {
      password = try PasswordInput.ask(
        "`latewood users set`", isNew: true, advice: "Use \(OptionDescription.passwordInput.name).", console)
    }
    let salt = try SecretBytes.random(count: 16).withUnsafeBytes { Hex.encode($0) }
    let hash = PasswordHash(of: password, salt: salt, rounds: rounds)
    do throws(UserFileError) {
      file.set(try UserAccount(name: name, roles: roles, password: hash))
    } catch { throw Failure.badInput(error.reason) }
    try UsersFile.write(file, to: path)
    try console.noteSentence("The user is in the file.")
  }
}
