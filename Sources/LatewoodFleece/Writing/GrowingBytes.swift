import LatewoodBytes

/// A growing byte buffer with little overhead: the output of writers and the text of strings.
///
/// Invariant: `start` has room for `capacity` bytes, of which the first `count` are set; `count <=
/// capacity`.
struct GrowingBytes: ~Copyable {
  private(set) var start: UnsafeMutableRawPointer
  private(set) var count = 0
  private var capacity: Int

  init(capacity: Int = 1024) {
    self.capacity = max(16, capacity)
    start = UnsafeMutableRawPointer.allocate(byteCount: self.capacity, alignment: 16)
  }

  deinit { start.deallocate() }

  /// Makes room for `length` more bytes.
  @inline(__always) mutating func reserve(_ length: Int) {
    if capacity &- count < length { grow(length) }
  }

  @inline(never) private mutating func grow(_ length: Int) {
    // The slack saves a second growth, with a copy, when little follows a long text.
    let needed = count + length
    let enlarged = max(capacity * 2, needed + needed / 8)
    let moved = UnsafeMutableRawPointer.allocate(byteCount: enlarged, alignment: 16)
    // SAFETY: both have room for `count` bytes.
    moved.copyMemory(from: start, byteCount: count)
    start.deallocate()
    start = moved
    capacity = enlarged
  }

  @inline(__always) mutating func append(_ byte: UInt8) {
    reserve(1)
    // SAFETY: there is room for one.
    start.set(byte, at: count)
    count &+= 1
  }

  /// Appends two bytes, the more significant first.
  @inline(__always) mutating func append(bigEndian value: UInt16) {
    reserve(2)
    // SAFETY: there is room for two.
    start.set(value.byteSwapped, at: count)
    count &+= 2
  }

  /// Appends four bytes, the most significant first.
  @inline(__always) mutating func append(bigEndian value: UInt32) {
    reserve(4)
    // SAFETY: there is room for four.
    start.set(value.byteSwapped, at: count)
    count &+= 4
  }

  /// Appends the `length` least significant bytes of `value`, least significant first.
  @inline(__always) mutating func append(littleEndian value: UInt64, length: Int) {
    reserve(8)
    // SAFETY: there is room for eight; bytes beyond `length` are not added to the count.
    start.set(value, at: count)
    count &+= length
  }

  @inline(__always) mutating func append(varint value: UInt64) {
    reserve(10)
    // SAFETY: a varint has at most ten bytes.
    count &+= Varint.write(value, to: start + count)
  }

  /// Appends bytes; `source` must have `length` bytes.
  @inline(__always) mutating func append(_ source: UnsafeRawPointer, _ length: Int) {
    reserve(length)
    // SAFETY: there is room, and the source lies elsewhere: growing would have moved the bytes of
    // this buffer.
    (start + count).copyShort(from: source, count: length)
    count &+= length
  }

  /// Appends bytes, and a zero byte if the count is then odd.
  @inline(__always) mutating func appendPadded(_ source: UnsafeRawPointer, _ length: Int) {
    reserve(length &+ 1)
    let target = start + count
    // SAFETY: there is room for one more than `length`; the zero only counts if the sum is odd.
    target.copyShort(from: source, count: length)
    target.set(UInt8(0), at: length)
    count = (count &+ length &+ 1) & ~1
  }

  /// Adds `length` bytes to the count, which the caller then sets.
  @inline(__always) mutating func reserveAndCount(_ length: Int) {
    reserve(length)
    count &+= length
  }

  @inline(__always) mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { bytes in
      if let base = bytes.baseAddress { append(base, bytes.count) }
    }
  }

  mutating func append(_ text: String) {
    var text = text
    text.withUTF8 { bytes in
      if let base = bytes.baseAddress { append(base, bytes.count) }
    }
  }

  /// Appends a zero byte if the count is odd.
  @inline(__always) mutating func padToEven() {
    if count & 1 != 0 { append(0) }
  }

  /// Removes all bytes starting at an offset and keeps the memory.
  mutating func truncate(to length: Int) {
    assert(length >= 0 && length <= count)
    count = length
  }

  /// Removes all bytes and keeps the memory.
  mutating func removeAll() { count = 0 }

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

  func array() -> [UInt8] { Array(bytes) }
}
