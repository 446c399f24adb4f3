import LatewoodBytes

extension JSONReader {
  /// Reads a number as the kind and payload of a node.
  mutating func number() throws(JSONError) -> (ValueTape.Kind, UInt64) {
    let number = try decimal()
    if number.isWhole, number.digits.isExact {
      // Every integer that fits into 64 bits, unsigned or with its sign, is exact.
      if !number.isNegative { return ValueTape.Kind.number(number.digits.value) }
      if number.digits.value <= 1 << 63 { return (.integer, 0 &- number.digits.value) }
    }
    var magnitude: Double
    if number.digits.isExact, let exact = DecimalNumber.double(number.digits.value, number.exponent) {
      magnitude = exact
    } else {
      magnitude = standardDouble(from: number.whole)
    }
    if number.isNegative { magnitude = -magnitude }
    guard magnitude.isFinite else { throw JSONError(.numberTooLarge, number.first) }
    return ValueTape.Kind.number(magnitude)
  }

  mutating func skipNumber() throws(JSONError) { _ = try decimal() }

  /// A number as it is written.
  private struct Decimal {
    /// The offset of the number.
    var first: Int
    /// The offset of its first digit.
    var whole: Int
    var isNegative: Bool
    /// Whether it has neither a fraction nor an exponent.
    var isWhole = true
    var digits = Digits()
    var exponent = 0
  }

  /// Reads `-`? (`0` | digit 1 to 9, digits) (`.` digits)? (`e` sign? digits)?
  @inline(__always) private mutating func decimal() throws(JSONError) -> Decimal {
    let first = at
    let isNegative = peek == UInt8(ascii: "-")
    if isNegative { at &+= 1 }
    var number = Decimal(first: first, whole: at, isNegative: isNegative)
    if peek == UInt8(ascii: "0") {
      at &+= 1
      if isDigit(peek) { throw refusal(.superfluousZero) }
    } else {
      take(&number.digits)
      if at == number.whole { throw refusal(.noDigit) }
    }
    if peek == UInt8(ascii: ".") {
      number.isWhole = false
      at &+= 1
      let from = at
      take(&number.digits)
      if at == from { throw refusal(.noDigit) }
      number.exponent = from &- at
    }
    if peek | 0x20 == UInt8(ascii: "e") {
      number.isWhole = false
      number.exponent &+= try exponentPart()
    }
    return number
  }

  /// The digits read so far as one integer, as long as it fits into 64 bits.
  private struct Digits {
    var value: UInt64 = 0
    var isExact = true
  }

  @inline(__always) private func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

  @inline(__always) private mutating func take(_ digits: inout Digits) {
    while at < end {
      let digit = start.u8(at) &- 0x30
      if digit > 9 { return }
      if digits.value < 1_844_674_407_370_955_161 {
        digits.value = digits.value &* 10 &+ UInt64(digit)
      } else {
        takeLast(digit, &digits)
      }
      at &+= 1
    }
  }

  private func takeLast(_ digit: UInt8, _ digits: inout Digits) {
    let (product, overflow) = digits.value.multipliedReportingOverflow(by: 10)
    let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
    if overflow || carry { digits.isExact = false } else { digits.value = sum }
  }

  private mutating func exponentPart() throws(JSONError) -> Int {
    at &+= 1
    let isNegative = peek == UInt8(ascii: "-")
    if isNegative || peek == UInt8(ascii: "+") { at &+= 1 }
    let from = at
    var value = 0
    while isDigit(peek) {
      // The exponent is already far beyond every double, so more digits make no difference.
      if value < 1_000_000 { value = value &* 10 &+ Int(peek &- 0x30) }
      at &+= 1
    }
    if at == from { throw refusal(.noDigit) }
    return isNegative ? -value : value
  }

  /// Uses the standard library to convert the numbers that 128 bits do not decide. The text from
  /// `whole` to `at` consists only of digits, a point, `e` and a sign.
  private func standardDouble(from whole: Int) -> Double {
    // SAFETY: the number lies within the text.
    let text = UnsafeRawBufferPointer(start: start + whole, count: at - whole)
    return Double(String(decoding: text, as: UTF8.self)) ?? .infinity
  }
}

/// Converts decimal numbers to the nearest doubles.
enum DecimalNumber {
  /// 5^27 is the highest power of five below 2^64.
  private static let powersOfFive: [UInt64] = {
    var powers: [UInt64] = [1]
    for index in 0..<27 { powers.append(powers[index] * 5) }
    return powers
  }()

  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
  ]

  /// Returns the double nearest to `digits * 10^exponent`, ties to even; nil if 128 bits do not
  /// decide.
  ///
  /// Up to 2^53 and 10^22 both factors are doubles themselves, so one operation rounds once (W. D.
  /// Clinger, "How to read floating point numbers accurately", 1990). Otherwise the power of ten is
  /// split into a power of five, by which the digits are multiplied or divided exactly in 128 bits,
  /// and a power of two, which only changes the exponent; then there is a single rounding.
  static func double(_ digits: UInt64, _ exponent: Int) -> Double? {
    if digits == 0 { return 0 }
    guard exponent >= -27, exponent <= 27 else { return nil }
    if digits <= 1 << 53, exponent >= -22, exponent <= 22 {
      let value = Double(digits)
      return exponent < 0 ? value / powersOfTen[-exponent] : value * powersOfTen[exponent]
    }
    if exponent >= 0 {
      let (high, low) = digits.multipliedFullWidth(by: powersOfFive[exponent])
      if high == 0 { return rounded(low, hasMore: false, exponent) }
      let shift = UInt64(high.leadingZeroBitCount)
      let top = shift == 0 ? high : high &<< shift | low &>> (64 &- shift)
      return rounded(top, hasMore: low &<< shift != 0, exponent &+ 64 &- Int(shift))
    }
    let divisor = powersOfFive[-exponent]
    let divisorShift = divisor.leadingZeroBitCount
    let digitsShift = digits.leadingZeroBitCount
    let normal = digits &<< UInt64(digitsShift)
    // The highest bit is set in the divisor but not in the dividend, so the quotient fits; it has
    // at least 63 bits.
    let (quotient, remainder) = (divisor &<< UInt64(divisorShift)).dividingFullWidth(
      (normal &>> 1, normal &<< 63))
    return rounded(quotient, hasMore: remainder != 0, divisorShift &- digitsShift &- 63 &+ exponent)
  }

  /// Returns `bits * 2^exponent`, where `hasMore` means that lower bits, which are not all zero,
  /// were cut off. The result must be far from overflow and from subnormal numbers.
  private static func rounded(_ bits: UInt64, hasMore: Bool, _ exponent: Int) -> Double {
    let zeros = bits.leadingZeroBitCount
    if zeros >= 11 {
      // This never happens with `hasMore`, because `bits` then has at least 63 bits.
      let kept = bits &<< UInt64(zeros &- 11)
      return assemble(kept, exponent &- (zeros &- 11))
    }
    let dropped = UInt64(11 &- zeros)
    var kept = bits &>> dropped
    let rest = bits & (1 &<< dropped &- 1)
    let half: UInt64 = 1 &<< (dropped &- 1)
    if rest > half || rest == half && (hasMore || kept & 1 == 1) { kept &+= 1 }
    return assemble(kept, exponent &+ Int(dropped))
  }

  /// Assembles a double; `kept` is from 2^52 to 2^53. If rounding has reached 2^53, the addition
  /// carries into the exponent, as it should.
  @inline(__always) private static func assemble(_ kept: UInt64, _ exponent: Int) -> Double {
    Double(bitPattern: UInt64(exponent &+ 52 &+ 1023) &<< 52 &+ (kept &- 1 &<< 52))
  }
}
