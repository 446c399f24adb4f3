import LatewoodCrypto

/// A password that can be checked, but not read: the key that PBKDF2 with HMAC-SHA-256 derives from
/// it.
///
/// The parts match those in CouchDB's user documents whose `pbkdf2_prf` is `sha256`: the characters
/// of the salt are hashed unchanged, and the key has 32 bytes.
package struct PasswordHash: Sendable, Equatable {
  /// With fewer rounds, a stolen file gives its passwords away soon. With more, a check takes
  /// longer than anyone waits.
  package static let roundLimits = 1000...10_000_000
  /// The number of rounds that OWASP recommends.
  package static let usualRounds = 600_000

  private static let keySize = 32
  private static let longestSalt = 128

  let rounds: Int
  let salt: String
  private let key: SecretBytes

  /// Hashes a password.
  ///
  /// - Parameters:
  ///   - salt: a text that no other password has.
  ///   - rounds: within `roundLimits`.
  package init(of password: SecretBytes, salt: String, rounds: Int = PasswordHash.usualRounds) {
    self.rounds = rounds
    self.salt = salt
    key = PasswordHash.key(password, salt, rounds)
  }

  /// Parses the parts of a line of a file; nil if they are not valid.
  init?(rounds: some StringProtocol, salt: some StringProtocol, key: some StringProtocol) {
    guard rounds.utf8.first != UInt8(ascii: "+"), let number = Int(rounds),
      PasswordHash.roundLimits.contains(number), !salt.isEmpty,
      salt.utf8.count <= PasswordHash.longestSalt,
      salt.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") }),
      let bytes = Hexadecimal.decode(key.utf8), bytes.count == PasswordHash.keySize
    else { return nil }
    self.rounds = number
    self.salt = String(salt)
    self.key = bytes.withUnsafeBytes { SecretBytes(copying: $0) }
  }

  /// Whether this is the hash of a password. Takes a second or so, and the same time for every
  /// password of one length.
  func matches(_ password: SecretBytes) -> Bool { PasswordHash.key(password, salt, rounds) == key }

  /// The parts in the form of a line in a file.
  var text: String { "\(rounds):\(salt):\(key.withUnsafeBytes { Hexadecimal.encode($0) })" }

  private static func key(_ password: SecretBytes, _ salt: String, _ rounds: Int) -> SecretBytes {
    password.withUnsafeBytes { password in
      Array(salt.utf8).withUnsafeBytes { salt in
        PBKDF2<SHA256>.derive(password: password, salt: salt, rounds: rounds, count: keySize)
      }
    }
  }
}

/// Bytes as lowercase hexadecimal digits.
enum Hexadecimal {
  static func encode(_ bytes: some Collection<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }

  /// Returns the bytes; nil for anything that is not pairs of digits.
  static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
    var digits: [UInt8] = []
    for byte in text {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(byte - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(byte - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(byte - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    guard digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
  }
}
