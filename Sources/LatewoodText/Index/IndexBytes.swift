import LatewoodBytes

/// Reads the value of an entry sequentially. Throws if a read exceeds the end.
///
/// SAFETY: every access is checked against `end` first. A reader is used only in the closure of
/// ``read(_:what:_:)``, and does not outlive its bytes.
struct IndexBytes {
  private var at: UnsafeRawPointer
  private let end: UnsafeRawPointer
  /// The description of the value in error messages.
  private let what: StaticString

  private init(_ start: UnsafeRawPointer, _ end: UnsafeRawPointer, _ what: StaticString) {
    at = start
    self.end = end
    self.what = what
  }

  /// Calls a closure with a reader of bytes, beginning at an offset.
  @inline(__always) static func read<Result>(
    _ bytes: [UInt8], from offset: Int = 0, what: StaticString,
    _ body: (inout IndexBytes) throws -> Result
  ) throws -> Result {
    try bytes.withUnsafeBytes { (buffer) in
      // SAFETY: the offset is checked to be inside of the buffer, which lives during the closure.
      guard let start = buffer.baseAddress, 0...buffer.count ~= offset else {
        throw TextIndexDamage("\(what) is empty")
      }
      var reader = IndexBytes(start + offset, start + buffer.count, what)
      return try body(&reader)
    }
  }

  /// The number of bytes that are left.
  var count: Int { end - at }

  func damaged(_ reason: String) -> TextIndexDamage { TextIndexDamage("\(what): \(reason)") }

  /// Reads an unsigned integer in variable length.
  @inline(__always) mutating func number() throws -> UInt64 {
    guard let (value, length) = Varint.read(at, end: end) else {
      throw damaged("it ends in the middle of a number")
    }
    at += length
    return value
  }

  /// Reads an integer that is at most `limit`.
  @inline(__always) mutating func number(upTo limit: UInt64) throws -> Int {
    let value = try number()
    guard value <= limit, let value = Int(exactly: value) else {
      throw damaged("the number \(value) is too large")
    }
    return value
  }

  /// Skips numbers in variable length.
  mutating func skip(_ count: Int) throws {
    // The usual case: a single number of one byte.
    if count == 1, self.count > 0, at.load(as: UInt8.self) < 0x80 {
      at += 1
      return
    }
    guard skipThere(count) else { throw damaged("it ends in the middle of a number") }
  }

  /// Skips numbers in variable length, or all bytes if there are fewer numbers.
  ///
  /// - Returns: whether there are as many.
  mutating func skipThere(_ count: Int) -> Bool {
    var left = count
    // A number ends in its only byte without the top bit. Eight bytes end at most eight numbers.
    while left > 8, self.count >= 8 {
      left -= (~at.loadUnaligned(as: UInt64.self) & 0x8080_8080_8080_8080).nonzeroBitCount
      at += 8
    }
    while left > 0 {
      guard self.count > 0 else { return false }
      if at.load(as: UInt8.self) < 0x80 { left -= 1 }
      at += 1
    }
    return true
  }

  /// Returns a reader of the next bytes, and skips them.
  mutating func part(_ length: Int) throws -> IndexBytes {
    guard 0...count ~= length else { throw damaged("a part is longer than the rest") }
    defer { at += length }
    return IndexBytes(at, at + length, what)
  }

  /// Returns a copy of the next bytes, and skips them.
  mutating func copy(_ length: Int) throws -> [UInt8] {
    guard 0...count ~= length else { throw damaged("a part is longer than the rest") }
    defer { at += length }
    // SAFETY: the bytes are inside of the value.
    return Array(UnsafeRawBufferPointer(start: at, count: length))
  }

  /// Appends a copy of the next bytes to an array, and skips them.
  mutating func append(_ length: Int, to bytes: inout [UInt8]) throws {
    guard 0...count ~= length else { throw damaged("a part is longer than the rest") }
    // SAFETY: the bytes are inside of the value.
    bytes.append(contentsOf: UnsafeRawBufferPointer(start: at, count: length))
    at += length
  }

  /// Checks that bytes which replace the end of a term make a greater one.
  ///
  /// - Parameter isFirst: whether there is no term before.
  func checkOrder(after term: [UInt8], from shared: Int, isFirst: Bool) throws {
    if isFirst { return }
    var pointer = at
    for byte in term[shared...] {
      guard pointer < end else { throw damaged("its terms are not in order") }
      let new = pointer.load(as: UInt8.self)
      if new > byte { return }
      guard new == byte else { throw damaged("its terms are not in order") }
      pointer += 1
    }
    guard pointer < end else { throw damaged("its terms are not in order") }
  }

  /// Returns whether the bytes are less than the end of a term.
  ///
  /// - Parameter start: where the end begins; then where the bytes differ from it, if they are
  ///   less.
  func isLess(than term: [UInt8], from start: inout Int) -> Bool {
    var (index, pointer) = (start, at)
    while index < term.count, pointer < end {
      let byte = pointer.load(as: UInt8.self)
      if byte > term[index] { return false }
      if byte < term[index] { break }
      index += 1
      pointer += 1
    }
    guard index < term.count else { return false }
    start = index
    return true
  }

  func finish() throws {
    guard at == end else { throw damaged("there are bytes after its end") }
  }
}
