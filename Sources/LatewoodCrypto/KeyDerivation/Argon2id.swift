import LatewoodBytes

/// Argon2id version 1.3 (RFC 9106): a key from a password, made expensive by memory and time.
///
/// The memory is a matrix of blocks of 1 KiB. Each row is a *lane*, each lane has four *segments*:
///
/// ```
///          segment 0   segment 1   segment 2   segment 3
/// lane 0   b b b b b   b b b b b   b b b b b   b b b b b     a block is made of the one before it
/// lane 1   b b b b b   b b b b b   b b b b b   b b b b b     in its lane, and of another one
/// ```
///
/// In the first half of the first pass, the choice of the other block does not depend on the
/// password, so the memory accesses reveal nothing. After that the choice does depend on it, by the
/// definition of the function. Do not derive a key where an attacker can observe the caches of the
/// processor.
///
/// Lanes are computed one after another, so more lanes do not save time here.
package struct Argon2id: Sendable, Equatable {
  /// The number of KiB of memory, at least 8 for each lane.
  package let memory: Int
  /// The number of passes over the memory.
  package let passes: Int
  /// The number of lanes, which other implementations compute in parallel.
  package let lanes: Int

  static let blockSize = 1024
  private static let blockWords = 128
  private static let version: UInt32 = 0x13
  private static let type: UInt32 = 2

  /// Creates a function with its costs. The caller must limit costs read from a file: this
  /// initializer accepts up to 4 TiB.
  ///
  /// - Throws: `StorageError` of kind `unsupported` if RFC 9106 does not allow the costs.
  package init(memory: Int, passes: Int, lanes: Int) throws(StorageError) {
    guard lanes >= 1, lanes < 1 << 24, passes >= 1, UInt32(exactly: passes) != nil,
      UInt32(exactly: memory) != nil, memory / 8 >= lanes
    else {
      throw StorageError(
        .unsupported, "Argon2id does not allow \(memory) KiB, \(passes) passes and \(lanes) lanes",
        advice: "Use at least one pass and one lane, and 8 KiB for each lane.")
    }
    self.memory = memory
    self.passes = passes
    self.lanes = lanes
  }

  /// Returns a key of `count` bytes, at least 4.
  ///
  /// - Parameters:
  ///   - salt: At least 8 bytes, random and different for each key, which need not be secret.
  ///   - secret: A second key, which is not stored with the salt; usually empty.
  ///   - associatedData: Other data that the key depends on; usually empty.
  /// - Throws: `StorageError` of kind `outOfMemory`.
  /// - Complexity: O(`passes` · `memory`), with 1 KiB · `memory` of memory, which is wiped.
  package func derive(
    password: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer,
    secret: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
    associatedData: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0), count: Int
  ) throws(StorageError) -> SecretBytes {
    precondition(count >= 4 && salt.count >= 8, "Argon2id takes 8 bytes of salt and makes 4 of a key")
    let columns = memory / (4 * lanes) * 4
    let (size, overflow) = (columns * lanes).multipliedReportingOverflow(by: Argon2id.blockSize)
    guard !overflow else { throw SecureMemory.outOfMemory(columns * lanes, "KiB") }
    return try SecureMemory.withLargeBytes(size) { memory in
      SecretBytes(count: count) { target in
        fillFirstBlocks(
          memory, columns,
          hash(password: password, salt: salt, secret: secret, associatedData: associatedData, count: count))
        Filling(function: self, memory: memory, columns: columns).run()
        // The XOR of the last blocks of all lanes.
        SecureMemory.withTemporaryBytes(Argon2id.blockSize) { last in
          for lane in 0..<lanes {
            let block = memory + ((lane + 1) * columns - 1) * Argon2id.blockSize
            for at in 0..<Argon2id.blockSize { last[at] ^= block.load(fromByteOffset: at, as: UInt8.self) }
          }
          Argon2id.longHash([UnsafeRawBufferPointer(last)], into: target)
        }
      }
    }
  }

  /// Returns the hash of all parameters and inputs, 64 bytes.
  private func hash(
    password: UnsafeRawBufferPointer, salt: UnsafeRawBufferPointer, secret: UnsafeRawBufferPointer,
    associatedData: UnsafeRawBufferPointer, count: Int
  ) -> SecretBytes {
    var hash = BLAKE2b(digestSize: 64)
    for number in [lanes, count, memory, passes] { hash.update(UInt32(truncatingIfNeeded: number)) }
    hash.update(Argon2id.version)
    hash.update(Argon2id.type)
    for input in [password, salt, secret, associatedData] {
      hash.update(UInt32(truncatingIfNeeded: input.count))
      hash.update(input)
    }
    return SecretBytes(count: 64) { hash.finish(into: $0) }
  }

  /// Writes the first two blocks of each lane.
  private func fillFirstBlocks(_ memory: UnsafeMutableRawPointer, _ columns: Int, _ hash: SecretBytes) {
    hash.withUnsafeBytes { hash in
      for lane in 0..<lanes {
        for column in 0..<2 {
          // SAFETY: a lane has at least eight blocks.
          let block = UnsafeMutableRawBufferPointer(
            start: memory + (lane * columns + column) * Argon2id.blockSize, count: Argon2id.blockSize)
          let numbers = SIMD2(UInt32(column).littleEndian, UInt32(lane).littleEndian)
          withUnsafeBytes(of: numbers) { Argon2id.longHash([hash, $0], into: block) }
        }
      }
    }
  }

  /// The hash function of variable length H' of RFC 9106, section 3.3.
  static func longHash(_ inputs: [UnsafeRawBufferPointer], into target: UnsafeMutableRawBufferPointer) {
    let count = target.count
    var hash = BLAKE2b(digestSize: min(count, 64))
    hash.update(UInt32(truncatingIfNeeded: count))
    for input in inputs { hash.update(input) }
    guard count > 64 else { return hash.finish(into: target) }
    SecureMemory.withTemporaryBytes(64) { digest in
      hash.finish(into: digest)
      var at = 0
      // Half of each digest, and all of the last one.
      while true {
        target[at..<(at + 32)].copyBytes(from: digest[..<32])
        at += 32
        let rest = count - at
        var next = BLAKE2b(digestSize: min(rest, 64))
        next.update(UnsafeRawBufferPointer(digest))
        next.finish(into: digest)
        guard rest > 64 else {
          target[at...].copyBytes(from: digest[..<rest])
          return
        }
      }
    }
  }
}

extension BLAKE2b {
  fileprivate mutating func update(_ number: UInt32) {
    withUnsafeBytes(of: number.littleEndian) { update($0) }
  }
}

extension Argon2id {
  /// The passes over the memory.
  private struct Filling {
    let function: Argon2id
    let memory: UnsafeMutableRawPointer
    /// The number of blocks of a lane, a multiple of 4.
    let columns: Int
    private var segment: Int { columns / 4 }

    func run() {
      // The rows of a block after the first half of the compression, the XOR of both inputs, then
      // three blocks for addresses.
      SecureMemory.withTemporaryBytes(5 * blockSize) { scratch in
        guard let scratch = scratch.baseAddress else { return }
        for pass in 0..<function.passes {
          for slice in 0..<4 {
            for lane in 0..<function.lanes { fill(pass, slice, lane, scratch) }
          }
        }
      }
    }

    private func fill(_ pass: Int, _ slice: Int, _ lane: Int, _ scratch: UnsafeMutableRawPointer) {
      let independent = pass == 0 && slice < 2
      let addresses = scratch + 2 * blockSize
      if independent { beginAddresses(pass, slice, lane, scratch) }
      for index in 0..<segment {
        if independent && index % blockWords == 0 { nextAddresses(scratch) }
        if pass == 0 && slice == 0 && index < 2 { continue }
        let column = slice &* segment &+ index
        let before = column == 0 ? columns &- 1 : column &- 1
        let previous = memory + (lane &* columns &+ before) &* blockSize
        let random =
          independent
          ? UnsafeRawPointer(addresses).u64(index % blockWords &* 8) : UnsafeRawPointer(previous).u64(0)

        let otherLane =
          pass == 0 && slice == 0 ? lane : Int(truncatingIfNeeded: (random &>> 32) % UInt64(function.lanes))
        let other = otherColumn(random, pass, slice, index, isSameLane: otherLane == lane)
        // SAFETY: columns and lanes are within the matrix by the modulo of both.
        Argon2id.compress(
          previous, memory + (otherLane &* columns &+ other) &* blockSize,
          memory + (lane &* columns &+ column) &* blockSize, scratch, accumulating: pass > 0)
      }
    }

    /// Returns the column that `random` selects among the blocks that are complete (section 3.4.2).
    @inline(__always) private func otherColumn(
      _ random: UInt64, _ pass: Int, _ slice: Int, _ index: Int, isSameLane: Bool
    ) -> Int {
      let complete = pass == 0 ? slice &* segment : columns &- segment
      let area = UInt64(isSameLane ? complete &+ index &- 1 : complete &- (index == 0 ? 1 : 0))
      let low = random & 0xFFFF_FFFF
      let position = area &- 1 &- (area &* ((low &* low) &>> 32)) &>> 32
      let first = pass == 0 || slice == 3 ? 0 : (slice &+ 1) &* segment
      return (first &+ Int(truncatingIfNeeded: position)) % columns
    }

    /// Prepares the input block that makes the addresses of a segment.
    private func beginAddresses(_ pass: Int, _ slice: Int, _ lane: Int, _ scratch: UnsafeMutableRawPointer) {
      let input = scratch + 3 * blockSize
      input.initializeMemory(as: UInt8.self, repeating: 0, count: blockSize)
      for (at, number) in [pass, lane, slice, columns * function.lanes, function.passes, Int(type)]
        .enumerated()
      {
        input.set(UInt64(number), at: at * 8)
      }
    }

    /// Computes the next 128 addresses.
    private func nextAddresses(_ scratch: UnsafeMutableRawPointer) {
      let (addresses, input, zero) = (
        scratch + 2 * blockSize, scratch + 3 * blockSize, scratch + 4 * blockSize
      )
      input.set(UnsafeRawPointer(input).u64(48) &+ 1, at: 48)
      Argon2id.compress(zero, input, addresses, scratch, accumulating: false)
      Argon2id.compress(zero, addresses, addresses, scratch, accumulating: false)
    }
  }

  // MARK: Compression

  private typealias Pair = SIMD2<UInt64>

  /// Compresses the blocks `x` and `y` into `target`, to which it is added if `accumulating`.
  private static func compress(
    _ x: UnsafeRawPointer, _ y: UnsafeRawPointer, _ target: UnsafeMutableRawPointer,
    _ scratch: UnsafeMutableRawPointer, accumulating: Bool
  ) {
    // SAFETY: blocks are aligned to 64 bytes and 1024 bytes long; `scratch` has room for two.
    let rows = scratch.assumingMemoryBound(to: Pair.self)
    let sum = (scratch + blockSize).assumingMemoryBound(to: Pair.self)
    let x = x.assumingMemoryBound(to: Pair.self)
    let y = y.assumingMemoryBound(to: Pair.self)
    let target = target.assumingMemoryBound(to: Pair.self)
    var row = 0
    while row < 64 {
      var v0 = x[row] ^ y[row]
      var v1 = x[row &+ 1] ^ y[row &+ 1]
      var v2 = x[row &+ 2] ^ y[row &+ 2]
      var v3 = x[row &+ 3] ^ y[row &+ 3]
      var v4 = x[row &+ 4] ^ y[row &+ 4]
      var v5 = x[row &+ 5] ^ y[row &+ 5]
      var v6 = x[row &+ 6] ^ y[row &+ 6]
      var v7 = x[row &+ 7] ^ y[row &+ 7]
      store(v0, v1, v2, v3, v4, v5, v6, v7, sum + row, 1)
      permute(&v0, &v1, &v2, &v3, &v4, &v5, &v6, &v7)
      store(v0, v1, v2, v3, v4, v5, v6, v7, rows + row, 1)
      row &+= 8
    }
    if accumulating {
      for at in 0..<64 { sum[at] = sum[at] ^ target[at] }
    }
    for column in 0..<8 {
      let rows = rows + column
      let sum = sum + column
      var (v0, v1, v2, v3) = (rows[0], rows[8], rows[16], rows[24])
      var (v4, v5, v6, v7) = (rows[32], rows[40], rows[48], rows[56])
      permute(&v0, &v1, &v2, &v3, &v4, &v5, &v6, &v7)
      store(
        v0 ^ sum[0], v1 ^ sum[8], v2 ^ sum[16], v3 ^ sum[24], v4 ^ sum[32], v5 ^ sum[40], v6 ^ sum[48],
        v7 ^ sum[56], target + column, 8)
    }
  }

  @inline(__always) private static func store(
    _ v0: Pair, _ v1: Pair, _ v2: Pair, _ v3: Pair, _ v4: Pair, _ v5: Pair, _ v6: Pair, _ v7: Pair,
    _ target: UnsafeMutablePointer<Pair>, _ stride: Int
  ) {
    target[0] = v0
    target[stride] = v1
    target[2 &* stride] = v2
    target[3 &* stride] = v3
    target[4 &* stride] = v4
    target[5 &* stride] = v5
    target[6 &* stride] = v6
    target[7 &* stride] = v7
  }

  /// The permutation P: the round of BLAKE2b with multiplications, over a matrix of four by four
  /// words whose rows are two vectors each.
  @inline(__always) private static func permute(
    _ a0: inout Pair, _ a1: inout Pair, _ b0: inout Pair, _ b1: inout Pair, _ c0: inout Pair,
    _ c1: inout Pair, _ d0: inout Pair, _ d1: inout Pair
  ) {
    mix(&a0, &b0, &c0, &d0)
    mix(&a1, &b1, &c1, &d1)
    // The diagonals become columns.
    var (e0, e1) = (Pair(b0.y, b1.x), Pair(b1.y, b0.x))
    var (f0, f1) = (Pair(d1.y, d0.x), Pair(d0.y, d1.x))
    mix(&a0, &e0, &c1, &f0)
    mix(&a1, &e1, &c0, &f1)
    (b0, b1) = (Pair(e1.y, e0.x), Pair(e0.y, e1.x))
    (d0, d1) = (Pair(f0.y, f1.x), Pair(f1.y, f0.x))
  }

  @inline(__always) private static func mix(
    _ a: inout Pair, _ b: inout Pair, _ c: inout Pair, _ d: inout Pair
  ) {
    a = multiplied(a, b)
    d = (d ^ a).rotatedBy32()
    c = multiplied(c, d)
    b = (b ^ c).rotatedRight(by: 24)
    a = multiplied(a, b)
    d = (d ^ a).rotatedRightBy16()
    c = multiplied(c, d)
    b = (b ^ c).rotatedRight(by: 63)
  }

  /// Returns a + b + 2 · (a mod 2^32) · (b mod 2^32).
  @inline(__always) private static func multiplied(_ a: Pair, _ b: Pair) -> Pair {
    let mask = Pair(repeating: 0xFFFF_FFFF)
    let product = (a & mask) &* (b & mask)
    return a &+ b &+ product &+ product
  }
}
