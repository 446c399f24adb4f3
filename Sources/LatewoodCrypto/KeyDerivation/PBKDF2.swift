/// PBKDF2 (RFC 8018, section 5.2) with HMAC: a key from a password, made slow by rounds.
///
/// It uses almost no memory, so graphics processors try passwords much faster than this machine.
/// Prefer `Argon2id` where the format allows it. OWASP recommends 600,000 rounds with SHA-256.
package enum PBKDF2<Hash: HashFunction> {
  /// Returns a key of `count` bytes.
  ///
  /// - Parameter rounds: At least 1. The caller must limit a number read from a file.
  /// - Complexity: O(`rounds` · `count` / digest size).
  package static func derive(
    password: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, rounds: Int, count: Int
  ) -> SecretBytes {
    precondition(rounds >= 1 && count >= 0, "PBKDF2 has at least one round")
    let start = HMAC<Hash>(key: password)
    let size = Hash.digestSize
    return SecretBytes(count: count) { target in
      SecureMemory.withTemporaryBytes(2 * size) { buffer in
        let sum = UnsafeMutableRawBufferPointer(rebasing: buffer[..<size])
        let digest = UnsafeMutableRawBufferPointer(rebasing: buffer[size...])
        var at = 0
        var number: UInt32 = 0
        while at < count {
          number += 1
          var mac = start
          mac.update(salt)
          withUnsafeBytes(of: number.bigEndian) { mac.update($0) }
          mac.finish(into: digest)
          sum.copyMemory(from: UnsafeRawBufferPointer(digest))
          for _ in 1..<rounds {
            var mac = start
            mac.update(UnsafeRawBufferPointer(digest))
            mac.finish(into: digest)
            for at in 0..<size { sum[at] ^= digest[at] }
          }
          let used = min(size, count - at)
          target[at..<(at + used)].copyBytes(from: sum[..<used])
          at += used
        }
      }
    }
  }
}
