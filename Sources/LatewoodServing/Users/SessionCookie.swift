import LatewoodCrypto
import LatewoodFleece
import LatewoodHTTP

/// Keyed hashes under a secret that exists only in this process.
struct ProcessSecret: Sendable {
  /// The purpose of a hash. A hash for one purpose is not valid for another.
  enum Purpose: UInt8 {
    case session = 1
    case credentials = 2
  }

  static let hashSize = SHA256.digestSize

  private let secret: SecretBytes

  init(_ secret: SecretBytes) { self.secret = secret }

  /// Returns the hash of texts, which are separated by their lengths.
  func hash(_ purpose: Purpose, _ texts: [[UInt8]]) -> [UInt8] {
    var authenticator = secret.withUnsafeBytes { HMAC<SHA256>(key: $0) }
    var message = [purpose.rawValue]
    for text in texts { message += SessionCookie.bytes(UInt64(text.count)) + text }
    message.withUnsafeBytes { authenticator.update($0) }
    var hash = [UInt8](repeating: 0, count: ProcessSecret.hashSize)
    hash.withUnsafeMutableBytes { authenticator.finish(into: $0) }
    return hash
  }

  /// Compares two hashes in a time that does not depend on their bytes.
  static func areEqual(_ left: some Collection<UInt8>, _ right: [UInt8]) -> Bool {
    Array(left).withUnsafeBytes { left in
      right.withUnsafeBytes { right in SecureMemory.areEqual(left, right) }
    }
  }
}

/// The cookie of a session: `AuthSession`.
///
/// Its value is the time at which it was made, in seconds, a keyed hash of time and name, and the
/// name, in base64:
///
///     time (8 bytes, big-endian) | hash (32 bytes) | name
///
/// The server keeps no sessions. A cookie is valid for ten minutes, and only while the process runs
/// that has signed it; a session that is used gets a new cookie each minute.
struct SessionCookie: Equatable {
  static let name = "AuthSession"
  /// The time for which a cookie is valid, in seconds.
  static let lifetime: UInt64 = 600

  let user: String
  /// The time at which it was made, in seconds since 1970.
  let time: UInt64

  init(user: String, time: UInt64) {
    self.user = user
    self.time = time
  }

  /// Parses the value of a cookie; nil if this process has not signed it.
  init?(_ value: some Collection<UInt8>, _ secret: ProcessSecret) {
    guard value.count <= 1024, let bytes = Base64.decode(value), bytes.count > 8 + ProcessSecret.hashSize
    else { return nil }
    let (time, name) = (Array(bytes[..<8]), Array(bytes[(8 + ProcessSecret.hashSize)...]))
    guard
      ProcessSecret.areEqual(
        bytes[8..<(8 + ProcessSecret.hashSize)], secret.hash(.session, [time, name]))
    else { return nil }
    self.time = time.reduce(0) { $0 << 8 | UInt64($1) }
    user = String(decoding: name, as: UTF8.self)
  }

  func value(_ secret: ProcessSecret) -> String {
    let (time, name) = (SessionCookie.bytes(time), Array(user.utf8))
    return Base64.encode(time + secret.hash(.session, [time, name]) + name)
  }

  /// The value of the field Set-Cookie.
  ///
  /// A browser does not show it to scripts, and sends it only with requests of pages of the same
  /// site.
  ///
  /// - Parameters:
  ///   - value: empty to end the session.
  ///   - isSecure: whether the client's connection has TLS.
  static func field(_ value: String, isSecure: Bool) -> String {
    let age = value.isEmpty ? 0 : lifetime
    return "\(name)=\(value); Version=1; Max-Age=\(age); Path=/; HttpOnly; SameSite=Strict"
      + (isSecure ? "; Secure" : "")
  }

  /// Returns the value of the session's cookie in the fields of a request; nil if there is none.
  static func value(in fields: HTTPFields) -> [UInt8]? {
    for cookie in fields.values("Cookie").flatMap({ $0.utf8.split(separator: UInt8(ascii: ";")) }) {
      let text = cookie.drop { $0 == 0x20 }
      guard text.starts(with: "\(name)=".utf8) else { continue }
      let value = text.dropFirst(name.utf8.count + 1).filter { $0 != UInt8(ascii: "\"") && $0 != 0x20 }
      return value.isEmpty ? nil : value
    }
    return nil
  }

  static func bytes(_ number: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }
}
