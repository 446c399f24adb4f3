/// A user who may use a server.
package struct UserAccount: Sendable, Equatable {
  package let name: String
  /// `_admin` is the role of administrators.
  package let roles: [String]
  let password: PasswordHash

  private static let longestName = 128
  private static let mostRoles = 32

  /// - Throws: `UserFileError` if the name or a role cannot be in a file.
  package init(name: String, roles: [String], password: PasswordHash) throws(UserFileError) {
    guard UserAccount.isName(name) else {
      throw UserFileError(
        "a name has 1 to \(UserAccount.longestName) bytes, no colon, comma or control character, and does not "
          + "begin with # or end with a space")
    }
    guard roles.count <= UserAccount.mostRoles, roles.allSatisfy(UserAccount.isName) else {
      throw UserFileError(
        "a user has at most \(UserAccount.mostRoles) roles, which have no colon, comma or control character")
    }
    self.name = name
    self.roles = roles
    self.password = password
  }

  private static func isName(_ text: String) -> Bool {
    let bytes = text.utf8
    return !bytes.isEmpty && bytes.count <= longestName && bytes.first != UInt8(ascii: "#")
      && bytes.first != 0x20 && Array(bytes).last != 0x20
      && bytes.allSatisfy {
        $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: ",")
      }
  }
}

/// An error in a file of users.
package struct UserFileError: Error, Equatable {
  /// The line, counted from 1; nil if it is not about a line.
  package var line: Int?
  /// The description of the problem, without a full stop.
  package var reason: String

  init(_ reason: String, line: Int? = nil) {
    self.reason = reason
    self.line = line
  }
}

/// The users of a server, as a text with a line for each:
///
/// ```
/// # The people of the lab
/// ann:_admin:pbkdf2-sha256:600000:5e2b…:9f04…
/// ```
///
/// A line is `name:roles:pbkdf2-sha256:rounds:salt:key`, without spaces around the colons. Roles
/// are separated by commas, and there may be none. The last three parts are `iterations`, `salt`
/// and `derived_key` of a user document of CouchDB. Empty lines and lines that begin with `#` are
/// remarks, which an edit keeps.
package struct UserFile: Sendable {
  private enum Line {
    case remark(Substring)
    case account(UserAccount)
  }

  /// The greatest length of a file that is read, in bytes.
  package static let longest = 1 << 20

  private static let scheme = "pbkdf2-sha256"
  private var lines: [Line] = []

  package init() {}

  /// Parses the text of a file.
  package init(parsing bytes: [UInt8]) throws(UserFileError) {
    guard bytes.count <= UserFile.longest else {
      throw UserFileError("a file of users has at most \(UserFile.longest) bytes")
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw UserFileError("a file of users is text in UTF-8")
    }
    var names: Set<ExactName> = []
    // By scalars: CR LF would be one character.
    for (index, part) in text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
      .enumerated()
    {
      let line = Substring(part.last == "\r" ? part.dropLast() : part)
      if line.utf8.allSatisfy({ $0 == 0x20 }) || line.utf8.first == UInt8(ascii: "#") {
        lines.append(.remark(line))
        continue
      }
      let account: UserAccount
      do throws(UserFileError) { account = try UserFile.account(line) } catch {
        throw UserFileError(error.reason, line: index + 1)
      }
      guard names.insert(ExactName(account.name)).inserted else {
        throw UserFileError("the name is in the file twice", line: index + 1)
      }
      lines.append(.account(account))
    }
    // The end of the last line is not another line.
    if case .remark(let last)? = lines.last, last.isEmpty { lines.removeLast() }
  }

  private static func account(_ line: Substring) throws(UserFileError) -> UserAccount {
    let parts = line.utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
      .map { Substring($0) }
    guard parts.count == 6, parts[2] == scheme else {
      throw UserFileError("a line is name:roles:\(scheme):rounds:salt:key")
    }
    guard let password = PasswordHash(rounds: parts[3], salt: parts[4], key: parts[5]) else {
      throw UserFileError(
        "\(PasswordHash.roundLimits.lowerBound) to \(PasswordHash.roundLimits.upperBound) rounds, a salt of visible "
          + "characters and a key of 64 hexadecimal digits are possible")
    }
    let roles = parts[1].utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
    return try UserAccount(name: String(parts[0]), roles: roles, password: password)
  }

  /// The users, in the order of their lines.
  package var accounts: [UserAccount] {
    lines.compactMap { if case .account(let account) = $0 { account } else { nil } }
  }

  /// Returns the user with a name; nil if there is none.
  package subscript(_ name: String) -> UserAccount? {
    accounts.first { ExactName($0.name) == ExactName(name) }
  }

  /// Adds a user, or replaces the one with the same name.
  package mutating func set(_ account: UserAccount) {
    if let index = index(of: account.name) {
      lines[index] = .account(account)
    } else {
      lines.append(.account(account))
    }
  }

  /// Removes a user. Returns false if there is none with this name.
  package mutating func remove(_ name: String) -> Bool {
    guard let index = index(of: name) else { return false }
    lines.remove(at: index)
    return true
  }

  private func index(of name: String) -> Int? {
    lines.firstIndex { line in
      if case .account(let account) = line { ExactName(account.name) == ExactName(name) } else { false }
    }
  }

  /// The text of the file.
  package var text: String {
    lines.map { line in
      switch line {
      case .remark(let text): "\(text)\n"
      case .account(let account):
        "\(account.name):\(account.roles.joined(separator: ",")):\(UserFile.scheme):\(account.password.text)\n"
      }
    }.joined()
  }
}
