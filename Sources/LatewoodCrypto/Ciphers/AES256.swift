import LatewoodBytes

/// The block cipher AES-256 (FIPS 197), and its counter mode (NIST SP 800-38A, section 6.5).
///
/// Only encryption is implemented, because counter mode also decrypts with it. `AESSlices` computes
/// 32 blocks together, so one block costs as much as 512 bytes.
///
/// Limits: random blocks of 128 bits repeat (the birthday bound), but the blocks of a keystream do
/// not. A keystream can therefore be told from random bytes after about 2^64 blocks of a key; 2^48
/// blocks (4 PiB) leave a chance of 2^-33. No two texts may have a counter in common: their XOR
/// would be known. The cipher does not authenticate.
package struct AES256: Sendable {
  package static let keySize = 32
  package static let blockSize = 16

  /// The slices of the keys of rounds.
  private let keys: SecretBytes

  /// Creates a cipher with a key of 32 bytes.
  package init(key: SecretBytes) {
    precondition(key.count == AES256.keySize, "a key of AES-256 has 32 bytes")
    keys = SecretBytes(count: AESSlices.keysSize) { target in
      key.withUnsafeBytes { key in
        if let key = key.baseAddress, let target = target.bindMemory(to: AESSlices.Slice.self).baseAddress {
          AESSlices.expand(key, into: target)
        }
      }
    }
  }

  /// The counter block: a big-endian number of 128 bits.
  package struct Counter: Sendable, Equatable {
    let high, low: UInt64

    package init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    /// Reads 16 bytes.
    package init(_ bytes: UnsafeRawBufferPointer) {
      precondition(bytes.count == 16, "a counter of AES has 16 bytes")
      let start = bytes.baseAddress
      self.init(high: start?.u64(0).byteSwapped ?? 0, low: start?.u64(8).byteSwapped ?? 0)
    }

    @inline(__always) func advanced(by count: UInt64) -> Counter {
      let (low, overflow) = low.addingReportingOverflow(count)
      return Counter(high: high &+ (overflow ? 1 : 0), low: low)
    }
  }

  /// Encrypts one block of 16 bytes from `source` into `target`, which may be the same memory.
  package func encrypt(_ source: UnsafeRawPointer, into target: UnsafeMutableRawPointer) {
    withBlocks { blocks in
      blocks[0] = source.loadUnaligned(as: AESSlices.Slice.self)
    } _: { blocks in
      target.storeBytes(of: blocks[0], as: AESSlices.Slice.self)
    }
  }

  /// Encrypts 32 blocks that `fill` writes, and passes them to `body`. Blocks that `fill` does not
  /// write are zero.
  func withBlocks(
    _ fill: (UnsafeMutablePointer<AESSlices.Slice>) -> Void,
    _ body: (UnsafeMutablePointer<AESSlices.Slice>) -> Void
  ) {
    SecureMemory.withTemporaryBytes(AESSlices.blockCount * AESSlices.blockSize) { buffer in
      keys.withUnsafeBytes { keys in
        guard let blocks = buffer.bindMemory(to: AESSlices.Slice.self).baseAddress,
          let keys = keys.bindMemory(to: AESSlices.Slice.self).baseAddress
        else { return }
        fill(blocks)
        AESSlices.encrypt(blocks, keys)
        body(blocks)
      }
    }
  }

  /// Writes the XOR of `source` and a keystream to `target`. The keystream begins with the
  /// encrypted `counter`. The target is the same memory as the source, or does not overlap it.
  ///
  /// - Parameter offset: The byte of the keystream to begin with. Parts of a text can be encrypted
  ///   and decrypted alone and in any order.
  /// - Complexity: O(`source.count`). 512 bytes are computed even for one.
  package func apply(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, counter: Counter,
    at offset: UInt64 = 0
  ) {
    apply(source, into: target, skipping: Int(offset % 16)) { block in
      let counter = counter.advanced(by: offset / 16 &+ block)
      // SAFETY: both are vectors of 16 bytes, of which any bits are valid.
      return unsafeBitCast(
        SIMD2<UInt64>(counter.high.bigEndian, counter.low.bigEndian), to: AESSlices.Slice.self)
    }
  }

  /// Writes the XOR of `source` and a keystream to `target`.
  ///
  /// - Parameters:
  ///   - skipping: The number of bytes of the first block to leave out, below 16.
  ///   - input: Returns block `number` before its encryption.
  @inline(__always) func apply(
    _ source: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, skipping: Int,
    _ input: (_ number: UInt64) -> AESSlices.Slice
  ) {
    precondition(target.count >= source.count, "the target is smaller than the source")
    guard let from = source.baseAddress, let to = target.baseAddress, !source.isEmpty else { return }
    SecureMemory.withTemporaryBytes(AESSlices.blockCount * AESSlices.blockSize) { buffer in
      keys.withUnsafeBytes { keys in
        guard let blocks = buffer.bindMemory(to: AESSlices.Slice.self).baseAddress,
          let keystream = UnsafeRawPointer(buffer.baseAddress),
          let keys = keys.bindMemory(to: AESSlices.Slice.self).baseAddress
        else { return }
        var at = 0
        var number: UInt64 = 0
        var skipping = skipping
        while at < source.count {
          for block in 0..<AESSlices.blockCount { blocks[block] = input(number &+ UInt64(block)) }
          AESSlices.encrypt(blocks, keys)
          number &+= UInt64(AESSlices.blockCount)
          let count = min(buffer.count &- skipping, source.count &- at)
          // SAFETY: `at + count` is within the source and the target, `skipping + count` within the
          // buffer.
          AES256.add(keystream + skipping, from + at, to + at, count)
          skipping = 0
          at &+= count
        }
      }
    }
  }

  /// Writes the XOR of `count` bytes of both sources.
  @inline(__always) private static func add(
    _ keystream: UnsafeRawPointer, _ from: UnsafeRawPointer, _ to: UnsafeMutableRawPointer, _ count: Int
  ) {
    var at = 0
    while at &+ 16 <= count {
      let sum =
        from.loadUnaligned(fromByteOffset: at, as: AESSlices.Slice.self)
        ^ keystream.loadUnaligned(fromByteOffset: at, as: AESSlices.Slice.self)
      to.storeBytes(of: sum, toByteOffset: at, as: AESSlices.Slice.self)
      at &+= 16
    }
    while at < count {
      to.set(from.u8(at) ^ keystream.u8(at), at: at)
      at &+= 1
    }
  }
}
