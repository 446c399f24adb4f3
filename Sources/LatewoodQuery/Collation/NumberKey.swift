import LatewoodFleece

/// A number in the form whose bytes sort as numbers do, whatever its encoding: 1 and 1.0 are the
/// same.
///
/// ```
/// sortable   8 bytes   the greatest double that is not above the number, its bits made to sort
/// tail       2 bytes   what the number is more than that; only where doubles have gaps, from 2^53 on
/// ```
///
/// Whether there is a tail follows from the first eight bytes, so no key is the beginning of
/// another.
struct NumberKey: Equatable {
  /// The magnitude from which on doubles do not hold every integer.
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

  /// Negative numbers have all bits turned, others the sign. What is no number comes before all
  /// numbers.
  private static func sortable(_ value: Double) -> UInt64 {
    if value.isNaN { return 0 }
    let bits = value == 0 ? 0 : value.bitPattern
    return bits &>> 63 == 0 ? bits | 1 &<< 63 : ~bits
  }

  static func < (left: NumberKey, right: NumberKey) -> Bool {
    left.sortable != right.sortable
      ? left.sortable < right.sortable : left.tail ?? 0 < right.tail ?? 0
  }
}
