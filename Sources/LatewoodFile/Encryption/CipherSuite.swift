import LatewoodBytes
import LatewoodCrypto

/// The ciphers of an encrypted file: FORMAT.md, section 14.
///
/// Both use keys of 256 bits, and authenticate every part of the file.
// The raw values are on disk.
public enum CipherSuite: UInt8, Sendable, CaseIterable {
  /// AES-256 in counter mode, with Poly1305: the default.
  case aes256 = 1
  /// XChaCha20-Poly1305, which is about twice as fast in software.
  case chaCha20 = 2
}

/// A random number of 128 bits. Each opening of a file for writing draws one, and all units that it
/// encrypts have it in their nonces.
struct Epoch: Hashable, Sendable {
  let first: UInt64
  let last: UInt64

  static let length = 16
}

/// The cipher of the units of one epoch, with a key that no other epoch has.
///
/// ```
/// keystream of a unit   | 32 bytes     | ...                   suite 1
///                       | 32 bytes | 32 unused | ...           suite 2, as in RFC 8439
///                         key of Poly1305        text of the unit
/// ```
struct EpochCipher: Sendable {
  private enum Cipher: Sendable {
    case aes256(AES256)
    case chaCha20(ChaCha20)
  }

  private let cipher: Cipher

  /// - Parameter fileKey: the key of the file, 32 bytes.
  init(_ suite: CipherSuite, fileKey: SecretBytes, _ epoch: Epoch) {
    switch suite {
    case .aes256:
      var info = Array("latewood aes-256 epoch".utf8)
      for word in [epoch.first, epoch.last] {
        withUnsafeBytes(of: word.littleEndian) { info.append(contentsOf: $0) }
      }
      let key = info.withUnsafeBytes {
        HKDF<SHA256>.expand(fileKey, info: $0, count: AES256.keySize)
      }
      cipher = .aes256(AES256(key: key))
    case .chaCha20:
      let key = withUnsafeBytes(of: (epoch.first.littleEndian, epoch.last.littleEndian)) {
        ChaCha20.derivedKey(fileKey, $0)
      }
      cipher = .chaCha20(ChaCha20(key: key))
    }
  }

  /// Writes the XOR of `source` and a part of a unit's keystream to `target`, which is the same
  /// memory or does not overlap it.
  ///
  /// - Parameters:
  ///   - number: the number of the unit in its epoch.
  ///   - offset: the offset of the source in the text of the unit.
  func apply(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, unit number: UInt64,
    at offset: UInt64
  ) {
    switch cipher {
    case .aes256(let cipher):
      cipher.apply(source, into: target, counter: AES256.Counter(high: number, low: 0), at: 32 + offset)
    case .chaCha20(let cipher):
      cipher.apply(source, into: target, nonce: number, at: 64 + offset)
    }
  }

  /// Returns the authenticator of a unit, with a key that only this unit has.
  func authenticator(ofUnit number: UInt64) -> Poly1305 {
    var key = (UInt64(0), UInt64(0), UInt64(0), UInt64(0))
    return withUnsafeMutableBytes(of: &key) { key in
      defer { SecureMemory.wipe(key) }
      switch cipher {
      case .aes256(let cipher):
        cipher.apply(
          UnsafeRawBufferPointer(key), into: key, counter: AES256.Counter(high: number, low: 0))
      case .chaCha20(let cipher):
        cipher.apply(UnsafeRawBufferPointer(key), into: key, nonce: number)
      }
      return Poly1305(key: UnsafeRawBufferPointer(key))
    }
  }
}
