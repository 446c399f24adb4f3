/// HKDF (RFC 5869): derives independent keys from a key, each named by its `info`.
///
/// It is for secrets that cannot be guessed. Passwords need `Argon2id` or `PBKDF2`, which are slow
/// on purpose.
package enum HKDF<Hash: HashFunction> {
  /// Returns a key of `count` bytes, at most 255 digests, for a secret, a salt that need not be
  /// secret, and the purpose of the key.
  package static func derive(
    from secret: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, info: UnsafeRawBufferPointer,
    count: Int
  ) -> SecretBytes {
    let extracted = SecretBytes(count: Hash.digestSize) { target in
      var mac = HMAC<Hash>(key: salt)
      mac.update(secret)
      mac.finish(into: target)
    }
    return expand(extracted, info: info, count: count)
  }

  /// Returns a key of `count` bytes, at most 255 digests, for a uniformly random key.
  package static func expand(_ key: SecretBytes, info: UnsafeRawBufferPointer, count: Int) -> SecretBytes {
    precondition(count <= 255 * Hash.digestSize, "HKDF derives at most 255 digests")
    let start = key.withUnsafeBytes { HMAC<Hash>(key: $0) }
    return SecretBytes(count: count) { target in
      SecureMemory.withTemporaryBytes(Hash.digestSize) { digest in
        var at = 0
        var number: UInt8 = 0
        while at < count {
          var mac = start
          if number > 0 { mac.update(UnsafeRawBufferPointer(digest)) }
          mac.update(info)
          number += 1
          withUnsafeBytes(of: number) { mac.update($0) }
          mac.finish(into: digest)
          let used = min(Hash.digestSize, count - at)
          target[at..<(at + used)].copyBytes(from: digest[..<used])
          at += used
        }
      }
    }
  }
}
