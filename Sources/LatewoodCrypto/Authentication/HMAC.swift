/// HMAC (RFC 2104, FIPS 198-1) with a hash function.
///
/// A key of any size can be used for any number of messages. Comparing tags is up to the caller:
/// `SecureMemory.areEqual`.
package struct HMAC<Hash: HashFunction>: Sendable {
  private var inner = Hash()
  private var outer = Hash()

  /// Creates an authenticator with a key. Keys longer than a block are hashed first.
  package init(key: UnsafeRawBufferPointer) {
    SecureMemory.withTemporaryBytes(Hash.blockSize) { block in
      if key.count > Hash.blockSize {
        Hash.hash(key, into: block)
      } else {
        block.copyMemory(from: key)
      }
      for at in 0..<Hash.blockSize { block[at] ^= 0x36 }
      inner.update(UnsafeRawBufferPointer(block))
      for at in 0..<Hash.blockSize { block[at] ^= 0x36 ^ 0x5C }
      outer.update(UnsafeRawBufferPointer(block))
    }
  }

  /// Appends `bytes` to the message.
  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    inner.update(bytes)
  }

  /// Writes the tag to the first `Hash.digestSize` bytes of `target`. The message can be continued
  /// afterwards.
  package func finish(into target: UnsafeMutableRawBufferPointer) {
    inner.finish(into: target)
    var outer = outer
    outer.update(UnsafeRawBufferPointer(rebasing: target[..<Hash.digestSize]))
    outer.finish(into: target)
  }
}
