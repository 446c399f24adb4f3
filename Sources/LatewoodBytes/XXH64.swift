/// XXH64, the 64-bit xxHash of Yann Collet (BSD-2-Clause specification,
/// github.com/Cyan4973/xxHash).
///
/// ```
/// input  32 bytes at a time -> four lanes -> merged   (inputs of 32 bytes and more)
/// rest   8, 4, 1 bytes at a time -> mixed in -> avalanche
/// ```
@usableFromInline package enum XXH64 {
  @usableFromInline static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
  @usableFromInline static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  @usableFromInline static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
  @usableFromInline static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
  @usableFromInline static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

  @inline(__always) static func rotate(_ value: UInt64, _ by: UInt64) -> UInt64 {
    (value &<< by) | (value &>> (64 &- by))
  }
  @inline(__always) static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
    rotate(lane &+ input &* prime2, 31) &* prime1
  }
  @inline(__always) static func merge(_ hash: UInt64, _ lane: UInt64) -> UInt64 {
    (hash ^ round(0, lane)) &* prime1 &+ prime4
  }

  /// The four running sums over blocks of 32 bytes.
  struct Lanes {
    var a, b, c, d: UInt64

    @inline(__always) init(seed: UInt64) {
      a = seed &+ prime1 &+ prime2
      b = seed &+ prime2
      c = seed
      d = seed &- prime1
    }
    @inline(__always) mutating func consume(_ source: UnsafeRawPointer, _ at: Int) {
      a = round(a, source.u64(at))
      b = round(b, source.u64(at &+ 8))
      c = round(c, source.u64(at &+ 16))
      d = round(d, source.u64(at &+ 24))
    }
    @inline(__always) var merged: UInt64 {
      var hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
      hash = merge(hash, a)
      hash = merge(hash, b)
      hash = merge(hash, c)
      return merge(hash, d)
    }
  }

  @inline(__always) static func finish(_ start: UInt64, _ source: UnsafeRawPointer, _ from: Int, _ end: Int)
    -> UInt64
  {
    var hash = start
    var at = from
    while at &+ 8 <= end {
      hash = rotate(hash ^ round(0, source.u64(at)), 27) &* prime1 &+ prime4
      at &+= 8
    }
    if at &+ 4 <= end {
      hash = rotate(hash ^ (UInt64(source.u32(at)) &* prime1), 23) &* prime2 &+ prime3
      at &+= 4
    }
    while at < end {
      hash = rotate(hash ^ (UInt64(source.u8(at)) &* prime5), 11) &* prime1
      at &+= 1
    }
    hash ^= hash &>> 33
    hash = hash &* prime2
    hash ^= hash &>> 29
    hash = hash &* prime3
    return hash ^ (hash &>> 32)
  }

  /// Returns the hash of `count` bytes starting at `source`. O(count), above 8 GB/s.
  package static func hash(_ source: UnsafeRawPointer, _ count: Int, seed: UInt64) -> UInt64 {
    var at = 0
    var hash: UInt64
    if count >= 32 {
      var lanes = Lanes(seed: seed)
      while at &+ 32 <= count {
        lanes.consume(source, at)
        at &+= 32
      }
      hash = lanes.merged
    } else {
      hash = seed &+ prime5
    }
    hash = hash &+ UInt64(count)
    return finish(hash, source, at, count)
  }

  /// Returns the hashes of the same bytes with two seeds, in one pass over them.
  package static func hashes(
    _ source: UnsafeRawPointer, _ count: Int, seeds: (UInt64, UInt64)
  ) -> (UInt64, UInt64) {
    var at = 0
    var hashes = (seeds.0 &+ prime5, seeds.1 &+ prime5)
    if count >= 32 {
      var lanes = (Lanes(seed: seeds.0), Lanes(seed: seeds.1))
      while at &+ 32 <= count {
        lanes.0.consume(source, at)
        lanes.1.consume(source, at)
        at &+= 32
      }
      hashes = (lanes.0.merged, lanes.1.merged)
    }
    return (
      finish(hashes.0 &+ UInt64(count), source, at, count),
      finish(hashes.1 &+ UInt64(count), source, at, count)
    )
  }

  /// Returns the hash of `bytes`.
  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
    guard let start = bytes.baseAddress else { return Stream(seed: seed).finish() }
    return hash(start, bytes.count, seed: seed)
  }

  /// Computes the same hash over bytes that arrive in pieces.
  package struct Stream {
    private let seed: UInt64
    private var lanes: Lanes
    private var total: UInt64 = 0
    private var pending: [UInt8] = []

    package init(seed: UInt64) {
      self.seed = seed
      lanes = Lanes(seed: seed)
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
      guard let start = bytes.baseAddress else { return }
      total &+= UInt64(bytes.count)
      var at = 0
      if !pending.isEmpty {
        at = min(32 - pending.count, bytes.count)
        pending.append(contentsOf: bytes[..<at])
        guard pending.count == 32 else { return }
        pending.withUnsafeBytes { block in
          if let base = block.baseAddress { lanes.consume(base, 0) }
        }
        pending.removeAll(keepingCapacity: true)
      }
      while at &+ 32 <= bytes.count {
        lanes.consume(start, at)
        at &+= 32
      }
      pending.append(contentsOf: bytes[at...])
    }

    package func finish() -> UInt64 {
      let start = (total >= 32 ? lanes.merged : seed &+ prime5) &+ total
      // One spare byte, which is not read, keeps the pointer valid if nothing is pending.
      return (pending + [0]).withUnsafeBytes { rest in
        rest.baseAddress.map { XXH64.finish(start, $0, 0, rest.count - 1) } ?? 0
      }
    }
  }
}
