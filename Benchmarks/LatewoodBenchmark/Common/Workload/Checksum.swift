/// A checksum of everything that is read, so that the engine must produce the bytes and the answers
/// of all engines can be compared: the first and last byte of each value, and in scans the last
/// byte of each key.
struct Checksum {
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
