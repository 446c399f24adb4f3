import LatewoodFleece

/// A number encoded as bytes that sort by value, regardless of its type: 1 and 1.0 are the same.
///
/// ```
/// sortable   8 bytes   the greatest double up to the number, its bits changed so that they sort
/// tail       2 bytes   the rest of the number; only where doubles have gaps, at 2^53 and above
/// ```
///
/// The first eight bytes determine whether there is a tail, so no key is a prefix of another.
struct NumberKey: Equatable {
  /// The magnitude beyond which doubles cannot represent every integer.
  private static let firstGap = 0x1p53

  let sortable: UInt64
  let tail: UInt16?

  init(_ number: FleeceValue.Number) {
    switch number {
    case .double(let value): self.init(value, tail: 0)
    case .integer(let value):
      var below = Double(value)
      if below >= 0x1p63 || Int64(below) > value { below = below.nextDown }
      self.init(below, tail: UInt16(truncatingIfNeeded: value &- Int64(below)))
    case .unsigned(let value):
      var below = Double(value)
      if below >= 0x1p64 || UInt64(below) > value { below = below.nextDown }
      self.init(below, tail: UInt16(truncatingIfNeeded: value &- UInt64(below)))
    }
  }

  private init(_ value: Double, tail: UInt16) {
    sortable = NumberKey.sortable(value)
    self.tail = abs(value) >= NumberKey.firstGap ? tail : nil
  }

  /// Inverts all bits of negative numbers and the sign bit of others. NaN sorts before all numbers.
  private static func sortable(_ value: Double) -> UInt64 {
    if value.isNaN { return 0 }
    let bits = value == 0 ? 0 : value.bitPattern
    return bits &>> 63 == 0 ? bits | 1 &<< 63 : ~bits
  }

  /// Creates a key from its parts.
  init(_ sortable: UInt64, tail: UInt16?) {
    self.sortable = sortable
    self.tail = tail
  }

  /// Returns whether a key that begins with this word has a tail.
  @inline(__always) static func hasTail(_ sortable: UInt64) -> Bool { abs(double(sortable)) >= firstGap }

  @inline(__always) private static func double(_ sortable: UInt64) -> Double {
    Double(bitPattern: sortable &>> 63 == 0 ? ~sortable : sortable & ~(1 &<< 63))
  }

  /// The number with this key; nil if it does not exist. A whole number may have been stored as an
  /// integer or as a double.
  @inline(__always) var number: FleeceValue.Number? {
    let below = NumberKey.double(sortable)
    guard let tail, tail > 0 else { return .double(below) }
    return NumberKey.integer(below, tail)
  }

  private static func integer(_ below: Double, _ tail: UInt16) -> FleeceValue.Number? {
    if let base = Int64(exactly: below) {
      let (sum, overflow) = base.addingReportingOverflow(Int64(tail))
      return overflow ? nil : .integer(sum)
    }
    guard let base = UInt64(exactly: below) else { return nil }
    let (sum, overflow) = base.addingReportingOverflow(UInt64(tail))
    return overflow ? nil : .unsigned(sum)
  }

  static func < (left: NumberKey, right: NumberKey) -> Bool {
    left.sortable != right.sortable
      ? left.sortable < right.sortable : left.tail ?? 0 < right.tail ?? 0
  }
}
