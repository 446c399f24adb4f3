import LatewoodBytes

/// The AEAD of RFC 8439 (nonces of 12 bytes), and XChaCha20-Poly1305 of draft-irtf-cfrg-xchacha-03
/// (nonces of 24 bytes).
///
/// The first block of the keystream is the one-time key of Poly1305; the text is encrypted from the
/// second block on. The tag covers the associated data and the ciphertext, each padded to 16 bytes,
/// and both lengths.
///
/// Limits: 256 GiB - 64 bytes for each text. Use a counter for nonces of 12 bytes; nonces of 24
/// bytes can be random for 2^80 texts. Two texts with the same key and nonce reveal their XOR, and
/// the key of their tags.
package enum ChaCha20Poly1305 {
  /// Encrypts `source` into `target`, which may be the same memory, and returns the tag.
  package static func seal(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, key: SecretBytes,
    nonce: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer
  ) -> AuthenticationTag {
    withCipher(key, nonce) { cipher, nonce in
      cipher.apply(source, into: target, nonce: nonce, counter: 1)
      let ciphertext = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(target)[..<source.count])
      return tag(cipher, nonce, associatedData, ciphertext)
    }
  }

  /// Checks the tag of `source`, then decrypts it into `target`, which may be the same memory.
  ///
  /// - Returns: False if the tag is wrong. Then nothing has been written to `target`.
  package static func open(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer,
    tag expected: AuthenticationTag,
    key: SecretBytes, nonce: UnsafeRawBufferPointer, associatedData: UnsafeRawBufferPointer
  ) -> Bool {
    withCipher(key, nonce) { cipher, nonce in
      guard tag(cipher, nonce, associatedData, source) == expected else { return false }
      cipher.apply(source, into: target, nonce: nonce, counter: 1)
      return true
    }
  }

  /// Calls `body` with the cipher and the short nonce for a nonce of 12 or 24 bytes.
  private static func withCipher<T>(
    _ key: SecretBytes, _ nonce: UnsafeRawBufferPointer, _ body: (ChaCha20, ChaCha20.Nonce) -> T
  ) -> T {
    if nonce.count == 24, let start = nonce.baseAddress {
      let derived = ChaCha20.derivedKey(key, UnsafeRawBufferPointer(rebasing: nonce[..<16]))
      return body(ChaCha20(key: derived), ChaCha20.Nonce(0, start.u64(16)))
    }
    return body(ChaCha20(key: key), ChaCha20.Nonce(nonce))
  }

  private static func tag(
    _ cipher: ChaCha20, _ nonce: ChaCha20.Nonce, _ associatedData: UnsafeRawBufferPointer,
    _ ciphertext: UnsafeRawBufferPointer
  ) -> AuthenticationTag {
    var authenticator = SecureMemory.withTemporaryBytes(Poly1305.keySize) { key in
      cipher.apply(UnsafeRawBufferPointer(key), into: key, nonce: nonce, counter: 0)
      return Poly1305(key: UnsafeRawBufferPointer(key))
    }
    authenticator.update(associatedData)
    authenticator.pad()
    authenticator.update(ciphertext)
    authenticator.pad()
    let lengths = SIMD2(UInt64(associatedData.count).littleEndian, UInt64(ciphertext.count).littleEndian)
    withUnsafeBytes(of: lengths) { authenticator.update($0) }
    return authenticator.finish()
  }
}
