/// A sum to which the values that are read are added.
protocol ValueSink {
  mutating func add(value: RawSpan)
}

/// A checksum of everything that is read, so that the engine must produce the bytes and the answers
/// of all engines can be compared: the first and last byte of each value, and in scans the last
/// byte of each key.
struct Checksum: ValueSink {
  private(set) var sum: UInt64 = 0

  @inline(__always) mutating func add(value: RawSpan) {
    let count = value.byteCount
    guard count > 0 else { return }
    // SAFETY: every bit pattern is a valid UInt8.
    let first = value.unsafeLoad(fromByteOffset: 0, as: UInt8.self)
    let last = value.unsafeLoad(fromByteOffset: count - 1, as: UInt8.self)
    sum &+= UInt64(first) &+ UInt64(last) << 8
  }

  @inline(__always) mutating func add(key: RawSpan, value: RawSpan) {
    add(value: value)
    guard key.byteCount > 0 else { return }
    // SAFETY: every bit pattern is a valid UInt8.
    sum &+= UInt64(key.unsafeLoad(fromByteOffset: key.byteCount - 1, as: UInt8.self)) << 16
  }

  static func &+= (left: inout Checksum, right: Checksum) { left.sum &+= right.sum }
}

/// The sum of all bytes of the values that are read, eight at a time, for workloads that measure
/// bytes: reading only the first and the last byte would leave most of a large value in its file.
struct WholeChecksum: ValueSink {
  private var sum: UInt64 = 0

  /// A number of 53 bits that depends on all bits of the sum: results are compared as doubles.
  var digest: UInt64 { mix64(sum) >> 11 }

  @inline(__always) mutating func add(value: RawSpan) {
    let whole = value.byteCount & ~7
    var total = sum
    for offset in stride(from: 0, to: whole, by: 8) {
      // SAFETY: the eight bytes at `offset` are inside, and every bit pattern is a valid number.
      let word = value.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self)
      total &+= UInt64(littleEndian: word)
    }
    for offset in whole..<value.byteCount {
      // SAFETY: `offset` is below the count, and every bit pattern is a valid UInt8.
      total &+= UInt64(value.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
    }
    sum = total
  }
}
