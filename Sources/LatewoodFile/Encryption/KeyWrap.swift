import LatewoodBytes
import LatewoodCrypto

/// The key of a file, encrypted with a key that is derived from a password or is itself the
/// caller's: FORMAT.md, section 14.
///
/// It is stored in the block of each root slot, so that every slot that is written renews one of
/// the two copies, and a new password replaces both by two slots.
package struct KeyWrap: Sendable, Equatable {
  /// The offsets of the fields, from the start of the wrap. On disk.
  package enum Offset {
    package static let checksum = 0
    package static let derivation = 8
    package static let salt = 24
    package static let key = 56
    package static let trailer = 88
  }
  /// The offset in the block of a root slot.
  package static let blockOffset = 1024
  package static let length = 128
  private static let saltLength = 32

  /// All bytes but the checksum, which depends on the file.
  private let bytes: [UInt8]

  private static let layout = FileCipher.Layout(length: length, clear: Offset.key)

  /// Encrypts the key of a file.
  ///
  /// Throws `unsupported` if the derivation costs more than a file may ask for, `wrongKey` if it is
  /// not for this kind of key, and `outOfMemory`.
  ///
  /// - Parameter random: returns random numbers that nobody can predict.
  package init(
    _ fileKey: SecretBytes, suite: CipherSuite, with key: EncryptionKey, by derivation: KeyDerivation,
    random: () -> UInt64
  ) throws(StorageError) {
    try derivation.checkCosts()
    var bytes = [UInt8](repeating: 0, count: KeyWrap.length)
    bytes.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      derivation.encode(into: base + Offset.derivation)
      for word in 0..<KeyWrap.saltLength / 8 { base.set(random(), at: Offset.salt + word * 8) }
    }
    guard let cipher = try KeyWrap.cipher(bytes, suite, key, derivation, random) else {
      throw StorageError(.wrongKey, "a raw key has 32 bytes, and only passwords are derived")
    }
    bytes.withUnsafeMutableBytes { bytes in
      fileKey.withUnsafeBytes { fileKey in
        guard let base = bytes.baseAddress, let source = fileKey.baseAddress else { return }
        // SAFETY: the caller's key has 32 bytes.
        (base + Offset.key).copyMemory(from: source, byteCount: 32)
      }
      guard let base = bytes.baseAddress else { return }
      cipher.seal(.key, at: 0, UnsafeRawPointer(base), into: base, KeyWrap.layout)
    }
    self.bytes = bytes
  }

  private init(copying source: UnsafeRawPointer) {
    var bytes = [UInt8](UnsafeRawBufferPointer(start: source, count: KeyWrap.length))
    for index in 0..<UnitCodec.checksumLength { bytes[index] = 0 }
    self.bytes = bytes
  }

  /// Returns the key of the file; nil if another key than `key` encrypted it.
  ///
  /// Throws `unsupported` if the derivation is not known or costs too much, and `outOfMemory`.
  package func unwrapped(by key: EncryptionKey, suite: CipherSuite) throws(StorageError) -> SecretBytes? {
    let derivation = try bytes.withStart { (start, _) throws(StorageError) in
      try KeyDerivation.decode(from: start + Offset.derivation)
    }
    guard let cipher = try KeyWrap.cipher(bytes, suite, key, derivation, { 0 }) else { return nil }
    return bytes.withUnsafeBytes { bytes -> SecretBytes? in
      guard let base = bytes.baseAddress, let text = cipher.open(.key, at: 0, base, KeyWrap.layout) else {
        return nil
      }
      return SecretBytes(count: 32) { target in
        // The target begins where the text does.
        if let start = target.baseAddress { text.decrypt(text.range, into: start - Offset.key) }
      }
    }
  }

  private static func cipher(
    _ bytes: [UInt8], _ suite: CipherSuite, _ key: EncryptionKey, _ derivation: KeyDerivation,
    _ random: () -> UInt64
  ) throws(StorageError) -> FileCipher? {
    let derived = try bytes.withStart { (start, _) throws(StorageError) in
      try derivation.derive(
        key, salt: UnsafeRawBufferPointer(start: start + Offset.salt, count: saltLength))
    }
    // A wrap is copied to the files that a compaction writes, so it does not depend on the file.
    return derived.map { FileCipher(suite, fileKey: $0, fileID: (0, 0), random: random) }
  }

  /// Writes the wrap with its checksum to the block of a root slot.
  func encode(intoSlotBlock block: UnsafeMutableRawPointer, codec: UnitCodec) {
    let target = block + KeyWrap.blockOffset
    bytes.withUnsafeBytes { bytes in
      // SAFETY: the block has 4 KiB.
      if let base = bytes.baseAddress { target.copyMemory(from: base, byteCount: bytes.count) }
    }
    _ = codec.seal(.key, at: 0, target, KeyWrap.length)
  }

  /// Reads the wrap in the block of a root slot; nil if its checksum is wrong.
  static func decode(fromSlotBlock block: UnsafeRawBufferPointer, codec: UnitCodec) -> KeyWrap? {
    guard block.count >= blockOffset + length, let base = block.baseAddress.map({ $0 + blockOffset }),
      codec.isSound(.key, at: 0, base, length)
    else { return nil }
    return KeyWrap(copying: base)
  }
}
