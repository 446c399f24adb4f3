import LatewoodBytes

/// Reads untrusted bytes sequentially. Throws if a read exceeds the end, or a value is not in
/// canonical form.
///
/// SAFETY: every access is checked against `end` first. A reader does not outlive its bytes.
struct UntrustedBytes {
  private var at: UnsafeRawPointer
  private var end: UnsafeRawPointer
  /// The description of the bytes in error messages.
  private let what: StaticString
  private let code: DatabaseError.Code

  /// Creates a reader. Returns nil if there are no bytes.
  init?(_ bytes: UnsafeRawBufferPointer, what: StaticString, code: DatabaseError.Code = .corruptData) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return nil }
    at = start
    end = start + bytes.count
    self.what = what
    self.code = code
  }

  var isAtEnd: Bool { at == end }
  var count: Int { end - at }

  func damaged(_ reason: String) -> DatabaseError {
    DatabaseError(code, "\(what) is damaged: \(reason)")
  }

  @inline(__always) mutating func byte() throws(DatabaseError) -> UInt8 {
    guard at < end else { throw damaged("it ends early") }
    defer { at += 1 }
    return at.u8(0)
  }

  @inline(__always) mutating func varint() throws(DatabaseError) -> UInt64 {
    guard let (value, length) = Varint.read(at, end: end) else { throw damaged("a number is not one") }
    at += length
    return value
  }

  @inline(__always) mutating func bytes(_ count: Int) throws(DatabaseError) -> UnsafeRawBufferPointer {
    guard count >= 0, count <= end - at else { throw damaged("it ends early") }
    defer { at += count }
    return UnsafeRawBufferPointer(start: at, count: count)
  }

  /// Excludes the last bytes from reading, and returns their number.
  @inline(__always) mutating func dropLast(_ count: UInt64) throws(DatabaseError) -> Int {
    guard count <= UInt64(end - at) else { throw damaged("it ends early") }
    end -= Int(count)
    return Int(count)
  }

  mutating func bigEndian() throws(DatabaseError) -> UInt64 {
    guard end - at >= 8 else { throw damaged("it ends early") }
    defer { at += 8 }
    return at.u64(0).byteSwapped
  }

  mutating func rest() -> UnsafeRawBufferPointer {
    defer { at = end }
    return UnsafeRawBufferPointer(start: at, count: end - at)
  }

  @inline(__always) mutating func digest(_ count: Int) throws(DatabaseError) -> RevisionDigest {
    guard count >= 1, count <= RevisionDigest.maximumCount else {
      throw damaged("a digest has \(count) bytes")
    }
    let bytes = try bytes(count)
    guard let start = bytes.baseAddress else { throw damaged("it ends early") }
    if count == RevisionDigest.usualCount {
      return RevisionDigest(
        words: start.u64(0).byteSwapped, start.u64(8).byteSwapped,
        UInt64(start.u32(16).byteSwapped) &<< 32, 0, count: count)
    }
    if count == RevisionDigest.valueHashCount {
      return RevisionDigest(
        words: start.u64(0).byteSwapped, start.u64(8).byteSwapped, UInt64(start.u8(16)) &<< 56, 0,
        count: count)
    }
    guard let digest = RevisionDigest(bytes) else { throw damaged("a digest has \(count) bytes") }
    return digest
  }

  /// Reads a digest that is a text. A digest that can be spelled as pairs of hexadecimal digits is
  /// never stored as text.
  @inline(never) mutating func textDigest(_ count: Int) throws(DatabaseError) -> RevisionDigest {
    guard let digest = RevisionDigest(text: try bytes(count)), digest.isText else {
      throw damaged("the text of a digest is not one")
    }
    return digest
  }

  mutating func generation() throws(DatabaseError) -> UInt64 {
    let generation = try varint()
    guard generation >= 1, generation <= RevisionID.maximumGeneration else {
      throw damaged("\(generation) is not a valid generation")
    }
    return generation
  }
}

/// The encoding that ``UntrustedBytes`` reads.
extension [UInt8] {
  mutating func append(_ digest: RevisionDigest) {
    let words = digest.bigEndianWords
    Swift.withUnsafeBytes(of: (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)) {
      append(contentsOf: UnsafeRawBufferPointer(rebasing: $0[..<Swift.min(digest.count, 32)]))
    }
    if digest.count > 32 { append(contentsOf: digest.bytes.dropFirst(32)) }
  }

  mutating func append(bigEndian value: UInt64) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }
}
