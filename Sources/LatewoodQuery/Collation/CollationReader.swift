import LatewoodBytes
import LatewoodFleece

/// Decodes the values of a ``CollationKey``, one after the other.
///
/// The bytes are not trusted: bytes that are not a key decode to a wrong value, or not at all.
@usableFromInline package struct CollationReader {
  private let bytes: UnsafeRawBufferPointer
  private var at = 0

  package init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  /// Returns the next value; nil at the end, at bytes that are not a key, and at data, an array or
  /// an object, after which no more values can be read.
  ///
  /// - Parameter descending: whether the value was appended in descending order.
  package mutating func next(descending: Bool) -> ScalarValue? {
    let mask: UInt8 = descending ? 0xFF : 0
    guard let first = byte(mask), let tag = CollationTag(rawValue: first) else { return nil }
    switch tag {
    case .missing: return .missing
    case .null: return .null
    case .no: return .boolean(false)
    case .yes: return .boolean(true)
    case .number: return number(mask).map { .number($0) }
    case .string: return string(mask).map { .string($0) }
    case .data, .array, .object:
      at = bytes.count
      return nil
    }
  }

  /// Returns the next value if it is a number. Leaves anything else for `next`.
  @inline(__always) package mutating func nextNumber(descending: Bool) -> FleeceValue.Number? {
    let mask: UInt8 = descending ? 0xFF : 0
    guard at < bytes.count, bytes[at] ^ mask == CollationTag.number.rawValue else { return nil }
    let start = at
    at += 1
    let number = number(mask)
    if number == nil { at = start }
    return number
  }

  /// The length of a number's key without its tail.
  package static let numberLength = 9

  /// Returns the first value of a key if it is a whole number less than 2^53, like nearly all whole
  /// numbers; nil for anything else. Inlined, for loops over many keys.
  ///
  /// - Parameter key: at least `numberLength` bytes.
  @inlinable @inline(__always) package static func wholeNumber(
    at key: UnsafeRawPointer, descending: Bool
  ) -> Int? {
    let mask: UInt64 = descending ? .max : 0
    guard UInt64(key.u8(0)) ^ mask & 0xFF == numberTag else { return nil }
    let sortable = key.u64(1).byteSwapped ^ mask
    // The bits of the number without its sign: see `NumberKey`.
    let isNegative = sortable &>> 63 == 0
    let bits = (isNegative ? ~sortable : sortable) & ~(1 &<< 63)
    // The number is `significand` shifted by this.
    let shift = 1075 &- Int(truncatingIfNeeded: bits &>> 52)
    guard shift >= 0, shift <= 52 else { return bits == 0 ? 0 : nil }
    let significand = bits & (1 &<< 52 &- 1) | 1 &<< 52
    guard significand & (1 &<< UInt64(shift) &- 1) == 0 else { return nil }
    let whole = Int(truncatingIfNeeded: significand &>> UInt64(shift))
    return isNegative ? 0 &- whole : whole
  }

  /// The raw value of `CollationTag.number`.
  @inlinable @inline(__always) static var numberTag: UInt64 { 0x30 }

  /// Skips the next value. Returns false where `next` would return nil.
  package mutating func skip(descending: Bool) -> Bool {
    if nextNumber(descending: descending) != nil { return true }
    return next(descending: descending) != nil
  }

  /// The number of bytes read.
  package var offset: Int { at }

  /// Returns the next byte without reading it; nil at the end.
  func peek() -> UInt8? { at < bytes.count ? bytes[at] : nil }

  /// Skips the byte that `peek` has returned.
  mutating func advance() { at += 1 }

  /// Returns the next value, which must be data in ascending order; nil if its bytes are not valid.
  mutating func data() -> [UInt8]? {
    at += 1
    return unescapedBytes(0)
  }

  private mutating func byte(_ mask: UInt8) -> UInt8? {
    guard at < bytes.count else { return nil }
    defer { at += 1 }
    return bytes[at] ^ mask
  }

  @inline(__always) private mutating func number(_ mask: UInt8) -> FleeceValue.Number? {
    guard bytes.count - at >= 8 else { return nil }
    let word = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self))
    at += 8
    let sortable = mask == 0 ? word : ~word
    guard NumberKey.hasTail(sortable) else { return NumberKey(sortable, tail: nil).number }
    guard let high = byte(mask), let low = byte(mask) else { return nil }
    return NumberKey(sortable, tail: UInt16(high) << 8 | UInt16(low)).number
  }

  private mutating func string(_ mask: UInt8) -> String? {
    let start = at
    // Most strings contain no zero bytes except the final two.
    while let byte = byte(mask) {
      if byte != 0 { continue }
      guard let next = self.byte(mask) else { return nil }
      if next == 0, mask == 0 {
        return String(decoding: bytes[start..<at - 2], as: UTF8.self)
      }
      at = start
      return unescaped(mask)
    }
    return nil
  }

  private mutating func unescaped(_ mask: UInt8) -> String? {
    unescapedBytes(mask).map { String(decoding: $0, as: UTF8.self) }
  }

  private mutating func unescapedBytes(_ mask: UInt8) -> [UInt8]? {
    var text: [UInt8] = []
    while let byte = byte(mask) {
      if byte == 0 {
        guard let next = self.byte(mask) else { return nil }
        if next == 0 { return text }
      }
      text.append(byte)
    }
    return nil
  }
}
