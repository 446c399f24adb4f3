import LatewoodCrypto
import Testing

@testable import LatewoodServing

@Suite struct UserFileTests {
  /// The hash of `password` with the salt `salt` and 1,000 rounds.
  private static let key = "632c2812e46d4604102ba7618e9d6d7d2f8128f6266b4a03264d2a0460b7dcb3"

  private func password(_ text: String) -> SecretBytes {
    Array(text.utf8).withUnsafeBytes { SecretBytes(copying: $0) }
  }

  @Test func `passwords are hashed as in CouchDB`() throws {
    let hash = try #require(PasswordHash(rounds: "1000", salt: "salt", key: Self.key))
    #expect(hash.matches(password("password")) && !hash.matches(password("Password")))
    #expect(PasswordHash(of: password("password"), salt: "salt", rounds: 1000) == hash)
    #expect(hash.text == "1000:salt:\(Self.key)")
  }

  @Test func `an edit changes one line and keeps the remarks`() throws {
    let text =
      "# who\n\nann:_admin,a b:pbkdf2-sha256:1000:salt:\(Self.key)\r\nbo::pbkdf2-sha256:1000:x:\(Self.key)"
    var file = try UserFile(parsing: Array(text.utf8))
    #expect(file.accounts.map(\.name) == ["ann", "bo"])
    #expect(file["ann"]?.roles == ["_admin", "a b"] && file["bo"]?.roles == [] && file["Ann"] == nil)
    let hash = try #require(PasswordHash(rounds: "2000", salt: "y", key: Self.key))
    file.set(try UserAccount(name: "bo", roles: ["r"], password: hash))
    file.set(try UserAccount(name: "cy", roles: [], password: hash))
    let removed = file.remove("ann")
    let again = file.remove("ann")
    #expect(removed && !again)
    #expect(
      file.text == "# who\n\nbo:r:pbkdf2-sha256:2000:y:\(Self.key)\ncy::pbkdf2-sha256:2000:y:\(Self.key)\n")
    #expect(try UserFile(parsing: Array(file.text.utf8)).text == file.text)
  }

  @Test(arguments: [
    "ann", "ann:_admin", "ann:_admin:pbkdf2-sha1:1000:salt:KEY", "ann:_admin:pbkdf2-sha256:999:salt:KEY",
    "ann:_admin:pbkdf2-sha256:10000001:salt:KEY", "ann:_admin:pbkdf2-sha256:+1000:salt:KEY",
    "ann:_admin:pbkdf2-sha256:99999999999999999999:salt:KEY", "ann:_admin:pbkdf2-sha256:1000::KEY",
    "ann:_admin:pbkdf2-sha256:1000:salt:KEY0", "ann:_admin:pbkdf2-sha256:1000:salt:KE",
    "ann:_admin:pbkdf2-sha256:1000:salt:KEY:", ":_admin:pbkdf2-sha256:1000:salt:KEY",
    "a\u{7}nn:_admin:pbkdf2-sha256:1000:salt:KEY", "ann:a\u{1b}:pbkdf2-sha256:1000:salt:KEY",
    " ann:_admin:pbkdf2-sha256:1000:salt:KEY", "a,b:_admin:pbkdf2-sha256:1000:salt:KEY",
    "bo::pbkdf2-sha256:1000:salt:KEY",
  ])
  func `a line that is not a user is refused with its number`(line: String) throws {
    let first = "bo::pbkdf2-sha256:1000:salt:\(Self.key)\n"
    let text =
      first + line.split(separator: "KEY", omittingEmptySubsequences: false).joined(separator: Self.key)
    let error = #expect(throws: UserFileError.self) { try UserFile(parsing: Array(text.utf8)) }
    #expect(error?.line == 2)
  }

  @Test func `a file that is not text or too long is refused`() {
    #expect(throws: UserFileError.self) { try UserFile(parsing: [0xFF]) }
    #expect(throws: UserFileError.self) { try UserFile(parsing: Array(repeating: 0x23, count: 1 << 20 | 1)) }
    #expect(throws: Never.self) { try UserFile(parsing: []) }
  }
}
