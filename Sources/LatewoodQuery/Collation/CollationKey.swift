import LatewoodBytes
import LatewoodFleece

/// A sequence of values encoded as bytes that sort in the order of the values: the key of an index
/// or a sort.
///
/// ```
/// missing, null, false, true     the tag alone
/// number                         tag, `NumberKey`
/// string, data                   tag, the bytes with 00 written as 00 FF, then 00 00
/// array                          tag, the keys of its elements, 00
/// object                         tag, for each member the keys of its name and its value, 00
/// ```
///
/// Members are ordered by the bytes of their names. Strings sort by their UTF-8; CouchDB sorts them
/// by the rules of ICU, where `a` precedes `B`. No key is a prefix of another, so several keys can
/// be concatenated, and a descending key has all its bits inverted.
package struct CollationKey: Sendable {
  /// The maximum length; anything beyond is cut off.
  let limit: Int
  package private(set) var bytes: [UInt8] = []
  /// The number of bytes at which the key is cut.
  private var end: Int
  /// Whether the key was cut. Equal cut keys may represent different values.
  package private(set) var isCut = false

  /// - Parameter limit: the maximum length of the key, in bytes.
  package init(limit: Int = .max) {
    self.limit = limit
    end = limit
  }

  /// Appends the key of a value.
  ///
  /// - Parameters:
  ///   - value: nil for a missing member.
  ///   - descending: whether greater values sort first.
  ///
  /// Throws `damaged`, and `tooDeep` or `tooLarge` for values that no writer produces.
  package mutating func append(_ value: FleeceValue?, descending: Bool = false) throws(FleeceError) {
    let start = bytes.count
    if let value {
      if let number = try value.number() {
        self.number(number)
      } else if let text = try value.provenText() {
        counted(.string, text)
      } else {
        try FleeceWalk.run(value, into: &self)
      }
    } else {
      tag(.missing)
    }
    if descending {
      for index in start..<bytes.count { bytes[index] = ~bytes[index] }
    }
  }

  /// Appends a separately encoded key.
  mutating func append(_ key: CollationKey, isDescending: Bool) {
    for byte in key.bytes { write(isDescending ? ~byte : byte) }
  }

  /// Removes all bytes, keeping their memory for other keys.
  mutating func removeAll() { bytes.removeAll(keepingCapacity: true) }

  mutating func reserveCapacity(_ count: Int) { bytes.reserveCapacity(count) }

  /// Begins another key behind the bytes so far.
  mutating func beginNext() {
    let (sum, isEndless) = bytes.count.addingReportingOverflow(limit)
    end = isEndless ? .max : sum
    isCut = false
  }

  /// Appends bytes that are not part of a key, such as an id.
  mutating func append(other: UnsafeRawBufferPointer) { bytes.append(bytes: other) }

  // MARK: Writing

  private mutating func write(_ byte: UInt8) {
    if bytes.count < end { bytes.append(byte) } else { isCut = true }
  }

  private mutating func tag(_ tag: CollationTag) { write(tag.rawValue) }

  private mutating func number(_ number: FleeceValue.Number) {
    // Most keys are a single number: allocate their memory in one step.
    if bytes.capacity == 0 { bytes.reserveCapacity(min(limit, 9)) }
    let key = NumberKey(number)
    if key.tail == nil, bytes.count <= end - 9 {
      let start = UInt64(CollationTag.number.rawValue) &<< 56 | key.sortable &>> 8
      let last = UInt64(truncatingIfNeeded: key.sortable) &<< 56
      withUnsafeBytes(of: (start.bigEndian, last.bigEndian)) {
        bytes.append(bytes: UnsafeRawBufferPointer(rebasing: $0[..<9]))
      }
      return
    }
    tag(.number)
    for shift in stride(from: UInt64(56), through: 0, by: -8) {
      write(UInt8(truncatingIfNeeded: key.sortable &>> shift))
    }
    if let tail = key.tail {
      write(UInt8(truncatingIfNeeded: tail &>> 8))
      write(UInt8(truncatingIfNeeded: tail))
    }
  }

  private mutating func counted(_ tag: CollationTag, _ value: UnsafeRawBufferPointer) {
    self.tag(tag)
    var rest = value
    while let zero = CollationKey.firstZero(in: rest) {
      copy(UnsafeRawBufferPointer(rebasing: rest[..<zero]))
      write(0x00)
      write(0xFF)
      rest = UnsafeRawBufferPointer(rebasing: rest[(zero + 1)...])
    }
    copy(rest)
    write(0x00)
    write(0x00)
  }

  /// Returns the index of the first zero byte. Examines eight bytes at a time.
  private static func firstZero(in bytes: UnsafeRawBufferPointer) -> Int? {
    var at = 0
    while at &+ 8 <= bytes.count {
      let word = bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      // Nonzero exactly if a byte is zero.
      if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { break }
      at &+= 8
    }
    while at < bytes.count {
      if bytes[at] == 0 { return at }
      at &+= 1
    }
    return nil
  }

  private mutating func copy(_ run: UnsafeRawBufferPointer) {
    let room = end - bytes.count
    if run.count <= room {
      bytes.append(bytes: run)
    } else {
      isCut = true
      bytes.append(bytes: UnsafeRawBufferPointer(rebasing: run.prefix(room)))
    }
  }
}

extension CollationKey: FleeceVisitor {
  package mutating func null() { tag(.null) }
  package mutating func boolean(_ value: Bool) { tag(value ? .yes : .no) }
  package mutating func integer(_ value: Int64) { number(.integer(value)) }
  package mutating func unsigned(_ value: UInt64) { number(.unsigned(value)) }
  package mutating func double(_ value: Double) { number(.double(value)) }
  package mutating func text(_ value: UnsafeRawBufferPointer) { counted(.string, value) }
  package mutating func data(_ value: UnsafeRawBufferPointer) { counted(.data, value) }
  package mutating func key(_ value: UnsafeRawBufferPointer) { counted(.string, value) }
  package mutating func beginArray() { tag(.array) }
  package mutating func endArray() { write(0x00) }
  package mutating func beginDictionary() { tag(.object) }
  package mutating func endDictionary() { write(0x00) }
}
