import LatewoodBytes
import LatewoodCrypto

/// The key that opens an encrypted file: a password, or 32 random bytes.
///
/// ```swift
/// var options = Store.Options()
/// options.encryptionKey = .password("correct horse battery staple")
/// ```
///
/// Each file is encrypted with its own random key, which is stored in the file, encrypted with
/// this one. The memory of a key is overwritten when its last copy is released, and no description
/// of a key contains its bytes.
public struct EncryptionKey: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// A password. The file states how the key is derived from it.
    case password(SecretBytes)
    /// 32 random bytes.
    case raw(SecretBytes)
    /// The key of the file itself, which this process has had open.
    case fileKey(SecretBytes)
  }

  package let kind: Kind
  /// How files that are encrypted with this key derive theirs from a password.
  package let derivation: PasswordDerivation

  package init(_ kind: Kind, derivation: PasswordDerivation = .usual) {
    self.kind = kind
    self.derivation = derivation
  }

  /// A password. Its UTF-8 is used unchanged, so programs that accept passwords with accents should
  /// normalize them in the same way everywhere.
  ///
  /// Every open derives a key from it, which is made to be slow, so that an attacker who has the
  /// file can try only few passwords: by default about 0.2 seconds and 64 MiB of memory. A password
  /// that can be guessed does not protect a file.
  ///
  /// - Parameters:
  ///   - password: the password.
  ///   - derivation: how a file that is created with this key, or gets it, derives its own from the
  ///     password. An existing file states that itself. Default: ``PasswordDerivation/usual``.
  public static func password(
    _ password: String, derivation: PasswordDerivation = .usual
  ) -> EncryptionKey {
    var password = password
    let bytes = password.withUTF8 { SecretBytes(copying: UnsafeRawBufferPointer($0)) }
    return EncryptionKey(.password(bytes), derivation: derivation)
  }

  /// A key of 32 bytes, which must be random. It is used without a slow derivation, so opening
  /// takes no longer than for a file that is not encrypted.
  ///
  /// A key of another length opens nothing: creating or opening a file with it throws `wrongKey`.
  public static func raw(_ bytes: some Collection<UInt8>) -> EncryptionKey {
    .raw(
      SecretBytes(count: bytes.count) { target in
        // One byte at a time, so that no other copy is made.
        for (index, byte) in bytes.enumerated() { target[index] = byte }
      })
  }

  package static func password(
    _ password: SecretBytes, derivation: PasswordDerivation = .usual
  ) -> EncryptionKey {
    EncryptionKey(.password(password), derivation: derivation)
  }

  package static func raw(_ bytes: SecretBytes) -> EncryptionKey { EncryptionKey(.raw(bytes)) }
}

extension EncryptionKey: CustomStringConvertible, CustomReflectable {
  /// The kind of the key, without its bytes.
  public var description: String {
    switch kind {
    case .password: "a password"
    case .raw: "a raw key"
    case .fileKey: "the key of a file"
    }
  }

  /// A mirror that does not show the bytes of the key.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// How a key is derived from a password: how long each attempt of an attacker takes, and each open.
///
/// ```swift
/// options.encryptionKey = .password("correct horse battery staple", derivation: .pbkdf2())
/// ```
public struct PasswordDerivation: Sendable, Equatable {
  private enum Function: Sendable, Equatable {
    case argon2id(memory: Int, passes: Int)
    case pbkdf2(rounds: Int)
  }

  private let function: Function

  /// Argon2id with 64 MiB of memory and three passes, as RFC 9106 recommends.
  public static let usual = argon2id(memory: 64 << 20, passes: 3)

  /// Argon2id (RFC 9106), which also needs memory, and so is expensive to attack with special
  /// hardware.
  ///
  /// Creating or changing a file throws `unsupported` if the parameters are out of bounds.
  ///
  /// - Parameters:
  ///   - memory: the memory that each open needs, in bytes: 8 KiB to 1 GiB, rounded down to KiB.
  ///   - passes: how often the memory is filled: 1 to 64.
  public static func argon2id(memory: Int, passes: Int) -> PasswordDerivation {
    PasswordDerivation(function: .argon2id(memory: memory, passes: passes))
  }

  /// PBKDF2 with HMAC-SHA-256 (RFC 8018), for rules that require it, and machines without memory to
  /// spare.
  ///
  /// Creating or changing a file throws `unsupported` if the number is out of bounds.
  ///
  /// - Parameter rounds: 1 to 67,108,864. Default: 600,000.
  public static func pbkdf2(rounds: Int = 600_000) -> PasswordDerivation {
    PasswordDerivation(function: .pbkdf2(rounds: rounds))
  }

  /// Throws `unsupported` if a parameter is out of bounds.
  var keyDerivation: KeyDerivation {
    get throws(StorageError) {
      switch function {
      case .argon2id(let memory, let passes):
        .argon2id(try Argon2id(memory: memory / 1024, passes: passes, lanes: 1))
      case .pbkdf2(let rounds): .pbkdf2(rounds: rounds)
      }
    }
  }
}

/// The way in which the key that encrypts a file's key is made from an ``EncryptionKey``.
package enum KeyDerivation: Sendable, Equatable {
  /// The key itself, which is random.
  case raw
  /// Argon2id (RFC 9106).
  case argon2id(Argon2id)
  /// PBKDF2 (RFC 8018) with HMAC-SHA-256.
  case pbkdf2(rounds: Int)

  /// The codes on disk.
  private enum Code {
    static let raw: UInt8 = 0
    static let argon2id: UInt8 = 1
    static let pbkdf2: UInt8 = 2
  }

  /// The costs that a file may ask for, so that a hostile file does not take all memory or all
  /// time. No file is written that asks for more.
  private enum Limit {
    static let kibibytes = 1 << 20
    static let passes = 64
    static let lanes = 64
    static let rounds = 1 << 26
  }

  /// Throws `unsupported` if the costs are not ones that a file may ask for.
  func checkCosts() throws(StorageError) {
    let isAllowed =
      switch self {
      case .raw: true
      case .argon2id(let function):
        function.memory <= Limit.kibibytes && function.passes <= Limit.passes
          && function.lanes <= Limit.lanes
      case .pbkdf2(let rounds): rounds >= 1 && rounds <= Limit.rounds
      }
    if isAllowed { return }
    throw StorageError(
      .unsupported, "a file may not ask for a derivation of its key that takes so much memory or time",
      advice: "At most 1 GiB, 64 passes and 64 lanes, or 67,108,864 rounds, are allowed.")
  }

  /// Returns 32 bytes; nil if the key is of the wrong kind, and so cannot be the right one.
  func derive(_ key: EncryptionKey, salt: UnsafeRawBufferPointer) throws(StorageError) -> SecretBytes? {
    switch (self, key.kind) {
    case (.raw, .raw(let bytes)): return bytes.count == 32 ? bytes : nil
    case (.argon2id(let function), .password(let password)):
      return try password.withUnsafeBytes { (password) throws(StorageError) in
        try function.derive(password: password, salt: salt, count: 32)
      }
    case (.pbkdf2(let rounds), .password(let password)):
      return password.withUnsafeBytes {
        PBKDF2<SHA256>.derive(password: $0, salt: salt, rounds: rounds, count: 32)
      }
    default: return nil
    }
  }

  /// Writes the code, and after 3 zeros the costs, to 16 bytes.
  ///
  /// The costs must have been checked.
  func encode(into target: UnsafeMutableRawPointer) {
    target.initializeMemory(as: UInt8.self, repeating: 0, count: 16)
    switch self {
    case .raw: target.set(Code.raw, at: 0)
    case .argon2id(let function):
      target.set(Code.argon2id, at: 0)
      target.set(UInt32(function.passes), at: 4)
      target.set(UInt32(function.memory), at: 8)
      target.set(UInt32(function.lanes), at: 12)
    case .pbkdf2(let rounds):
      target.set(Code.pbkdf2, at: 0)
      target.set(UInt32(rounds), at: 4)
    }
  }

  /// Reads 16 bytes. Throws `unsupported` if the derivation is not known or costs too much.
  static func decode(from source: UnsafeRawPointer) throws(StorageError) -> KeyDerivation {
    let (first, second, third) = (Int(source.u32(4)), Int(source.u32(8)), Int(source.u32(12)))
    let derivation: KeyDerivation
    switch source.u8(0) {
    case Code.raw: derivation = .raw
    case Code.argon2id:
      derivation = .argon2id(try Argon2id(memory: second, passes: first, lanes: third))
    case Code.pbkdf2: derivation = .pbkdf2(rounds: first)
    default:
      throw StorageError(
        .unsupported, "the file asks for a derivation of its key that is not known",
        advice: "Use a newer program, if a newer one wrote the file.")
    }
    try derivation.checkCosts()
    return derivation
  }
}
