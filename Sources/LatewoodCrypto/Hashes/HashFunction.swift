/// A hash function whose input arrives in pieces.
package protocol HashFunction: Sendable {
  /// The number of bytes of a digest.
  static var digestSize: Int { get }
  /// The number of bytes that are compressed together, by which HMAC pads its key.
  static var blockSize: Int { get }

  init()
  /// Appends `bytes` to the input.
  mutating func update(_ bytes: UnsafeRawBufferPointer)
  /// Writes the digest of the input to the first `digestSize` bytes of `target`. The input can be
  /// continued afterwards.
  func finish(into target: UnsafeMutableRawBufferPointer)
}

extension HashFunction {
  /// Writes the digest of `bytes` to the first `digestSize` bytes of `target`.
  package static func hash(_ bytes: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
    var hash = Self()
    hash.update(bytes)
    hash.finish(into: target)
  }

  /// Returns the digest of the input, which can be continued afterwards.
  package func digest() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: Self.digestSize)
    bytes.withUnsafeMutableBytes { finish(into: $0) }
    return bytes
  }
}

/// The part in which hash functions of the Merkle–Damgård construction differ.
package protocol CompressionFunction: Sendable {
  associatedtype State: Sendable
  static var initial: State { get }
  static var digestSize: Int { get }
  /// Whether words and the length of the input have their most significant byte first.
  static var isBigEndian: Bool { get }
  /// Compresses `count` blocks of 64 bytes that begin at `start` into `state`.
  static func compress(_ state: inout State, _ start: UnsafeRawPointer, count: Int)
  /// Writes the state as a digest.
  static func write(_ state: State, to target: UnsafeMutableRawPointer)
}

/// A hash function of the Merkle–Damgård construction with blocks of 64 bytes: SHA-256, SHA-1 or
/// MD5. The input is padded with a bit, zeros and its length of 64 bits.
///
/// Knowing a digest and the length of its input, anyone can compute the digest of a continued
/// input: keys belong into `HMAC`, not in front of the input.
package struct BlockHash<Compression: CompressionFunction>: HashFunction {
  package static var digestSize: Int { Compression.digestSize }
  package static var blockSize: Int { 64 }

  var state = Compression.initial
  private var pending = SIMD64<UInt8>()
  private var pendingCount = 0
  private var total: UInt64 = 0

  package init() {}

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    total &+= UInt64(bytes.count)
    var at = 0
    if pendingCount > 0 {
      at = min(64 - pendingCount, bytes.count)
      append(start, at)
      guard pendingCount == 64 else { return }
      withUnsafeBytes(of: pending) { block in
        if let block = block.baseAddress { Compression.compress(&state, block, count: 1) }
      }
      pendingCount = 0
    }
    let blocks = (bytes.count &- at) / 64
    // SAFETY: the blocks end within the buffer.
    if blocks > 0 { Compression.compress(&state, start + at, count: blocks) }
    at &+= blocks &* 64
    append(start + at, bytes.count &- at)
  }

  private mutating func append(_ start: UnsafeRawPointer, _ count: Int) {
    guard count > 0 else { return }
    let from = pendingCount
    withUnsafeMutableBytes(of: &pending) { pending in
      // SAFETY: `from + count` is at most 64.
      pending.baseAddress?.advanced(by: from).copyMemory(from: start, byteCount: count)
    }
    pendingCount = from + count
  }

  package func finish(into target: UnsafeMutableRawBufferPointer) {
    precondition(target.count >= Self.digestSize, "the digest does not fit")
    guard let target = target.baseAddress else { return }
    var state = state
    SecureMemory.withTemporaryBytes(128) { buffer in
      guard let start = buffer.baseAddress else { return }
      withUnsafeBytes(of: pending) { pending in
        if let pending = pending.baseAddress { start.copyMemory(from: pending, byteCount: pendingCount) }
      }
      start.storeBytes(of: 0x80, toByteOffset: pendingCount, as: UInt8.self)
      let size = pendingCount < 56 ? 64 : 128
      let bits = total &* 8
      start.storeBytes(
        of: Compression.isBigEndian ? bits.bigEndian : bits.littleEndian, toByteOffset: size - 8,
        as: UInt64.self)
      Compression.compress(&state, start, count: size / 64)
    }
    Compression.write(state, to: target)
  }
}
