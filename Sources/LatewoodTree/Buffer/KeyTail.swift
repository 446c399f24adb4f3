import LatewoodBytes

/// The 16 bytes of a key after its head, as two big-endian numbers; missing bytes count as zero.
///
/// Branches of the write buffer store the tails of their separators, which decide most searches
/// without reading a record and verifying it against its tag. If tails are equal, the records are
/// read.
struct KeyTail {
  static let length = 16
  private static let headLength = 4

  let first: UInt64
  let second: UInt64

  /// - Parameters:
  ///   - rest: the key after the prefix of its node, beginning with the head.
  ///   - restCount: the number of its bytes.
  @inline(__always) init(_ rest: UnsafeRawPointer, _ restCount: Int) {
    first = Self.word(rest + Self.headLength, restCount &- Self.headLength)
    second = restCount > 12 ? Self.word(rest + 12, restCount &- 12) : 0
  }

  @inline(__always) private static func word(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
    // SAFETY: there are `count` bytes, or none if it is negative.
    if count >= 8 { return start.u64(0).byteSwapped }
    if count < 4 { return UInt64(KeyOrder.head(start, count)) &<< 32 }
    let high = UInt64(start.u32(0).byteSwapped) &<< 32
    // The last four bytes, which overlap the first four.
    return high | UInt64(start.u32(count &- 4).byteSwapped) &<< UInt64(8 &* (8 &- count))
  }

  /// Writes the bytes of the tail.
  @inline(__always) func store(to place: UnsafeMutableRawPointer) {
    place.set(first.byteSwapped, at: 0)
    place.set(second.byteSwapped, at: 8)
  }

  @inline(__always) static func < (a: KeyTail, b: KeyTail) -> Bool {
    a.first != b.first ? a.first < b.first : a.second < b.second
  }
}

extension BufferNode {
  /// The tails of a branch's separators.
  @inline(__always) var tails: UnsafeMutablePointer<KeyTail> {
    (pointer + Self.headerLength + capacity &* 28).assumingMemoryBound(to: KeyTail.self)
  }

  /// Returns the separators among `from ..< to`, which have equal heads, that have this tail: an
  /// empty range at the insertion point if there are none.
  @inline(__always) func run(of tail: KeyTail, in from: Int, _ to: Int) -> (low: Int, high: Int) {
    let all = tails
    var (low, end) = (from, to)
    while low < end {
      let middle = (low &+ end) &>> 1
      if all[middle] < tail { low = middle &+ 1 } else { end = middle }
    }
    var high = low
    while high < to, !(tail < all[high]) { high &+= 1 }
    return (low, high)
  }
}
