/// Converts points in time to and from ISO 8601 text such as `2026-03-01T09:30:00`, in the
/// Gregorian calendar and without leap seconds.
package enum CivilTime {
  /// Returns the date and the time of day in UTC, to the second. Years after 9999 have more digits.
  ///
  /// - Parameters:
  ///   - seconds: seconds since 1970-01-01 00:00 UTC.
  ///   - separator: the text between date and time.
  ///   - fraction: the digits after the second, which are followed by a `Z`; nil to omit both.
  package static func text(
    seconds: Int64, separator: String = "T", fraction: (value: Int64, digits: Int)? = nil
  ) -> String {
    var day = seconds / 86_400
    var rest = seconds % 86_400
    if rest < 0 {
      rest += 86_400
      day -= 1
    }
    let (year, month, dayOfMonth) = civil(day)
    var text: [UInt8] = []
    text.reserveCapacity(32)
    append(year, 4, to: &text)
    text.append(UInt8(ascii: "-"))
    append(month, 2, to: &text)
    text.append(UInt8(ascii: "-"))
    append(dayOfMonth, 2, to: &text)
    text.append(contentsOf: separator.utf8)
    append(rest / 3600, 2, to: &text)
    text.append(UInt8(ascii: ":"))
    append(rest / 60 % 60, 2, to: &text)
    text.append(UInt8(ascii: ":"))
    append(rest % 60, 2, to: &text)
    if let fraction {
      text.append(UInt8(ascii: "."))
      append(fraction.value, fraction.digits, to: &text)
      text.append(UInt8(ascii: "Z"))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Appends a number with leading zeros.
  private static func append(_ value: Int64, _ width: Int, to text: inout [UInt8]) {
    if value < 0 { text.append(UInt8(ascii: "-")) }
    let number = value.magnitude
    var digits = 1
    var power: UInt64 = 1
    while digits < width || number / power >= 10 {
      digits += 1
      power *= 10
    }
    while power > 0 {
      text.append(UInt8(ascii: "0") + UInt8(number / power % 10))
      power /= 10
    }
  }

  /// Parses a text into seconds since 1970-01-01 00:00 UTC and the fraction of a second; nil if the
  /// text is not valid.
  ///
  /// Accepts a date, `T` or a blank, hours and minutes, optional seconds with an optional fraction,
  /// and `Z` or an offset like `+02:00` (default: UTC). A date alone means midnight in UTC.
  package static func parse(_ text: String) -> (seconds: Int64, fraction: Double)? {
    var text = text
    return text.withUTF8 { parse(UnsafeRawBufferPointer($0)) }
  }

  /// Parses the bytes of a text.
  package static func parse(_ text: UnsafeRawBufferPointer) -> (seconds: Int64, fraction: Double)? {
    var scanner = Scanner(text)
    guard let year = scanner.number(4), scanner.take("-"), let month = scanner.number(2), scanner.take("-"),
      let day = scanner.number(2), (1...12).contains(month), day >= 1, day <= length(ofMonth: month, year)
    else { return nil }
    var seconds = days(year, month, day) * 86_400
    var fraction = 0.0
    if !scanner.isAtEnd {
      guard scanner.take("T") || scanner.take(" ") || scanner.take("t"), let hour = scanner.number(2),
        hour < 24,
        scanner.take(":"), let minute = scanner.number(2), minute < 60
      else { return nil }
      seconds += hour * 3600 + minute * 60
      if scanner.take(":") {
        // A leap second is the first second of the next minute.
        guard let second = scanner.number(2), second <= 60 else { return nil }
        seconds += second
        if scanner.take(".") || scanner.take(",") {
          guard let digits = scanner.fraction() else { return nil }
          fraction = digits
        }
      }
      guard let offset = scanner.zone() else { return nil }
      seconds -= offset
    }
    guard scanner.isAtEnd else { return nil }
    return (Int64(seconds), fraction)
  }

  /// Returns a number padded with leading zeros.
  package static func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }

  /// Returns the proleptic Gregorian date of a day since 1970, after Howard Hinnant's
  /// `civil_from_days`: years start in March, so that leap days come last.
  private static func civil(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = day + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    let month = march < 10 ? march + 3 : march - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * march + 2) / 5 + 1)
  }

  /// Returns the number of days since 1970, the inverse of `civil`. Years are 0 to 9999.
  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private static func length(ofMonth month: Int, _ year: Int) -> Int {
    let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    // 31 days in odd months up to July, and in even ones from August on.
    return month == 2 ? (isLeap ? 29 : 28) : 30 + (month + month >> 3) & 1
  }

  /// Reads a text from left to right.
  ///
  /// SAFETY: the bytes outlive the scanner, and each is read only after `at` was found to be below
  /// their count.
  private struct Scanner {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    var isAtEnd: Bool { at == bytes.count }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
      guard at < bytes.count, bytes[at] == UInt8(ascii: character) else { return false }
      at += 1
      return true
    }

    private mutating func digit() -> Int? {
      guard at < bytes.count, bytes[at] >= 0x30, bytes[at] <= 0x39 else { return nil }
      at += 1
      return Int(bytes[at - 1]) - 0x30
    }

    mutating func number(_ count: Int) -> Int? {
      var value = 0
      for _ in 0..<count {
        guard let digit = digit() else { return nil }
        value = value * 10 + digit
      }
      return value
    }

    /// Reads the digits after the point. Digits after the eighteenth are ignored.
    mutating func fraction() -> Double? {
      guard let first = digit() else { return nil }
      var value = Int64(first)
      var scale: Int64 = 10
      while let digit = digit() {
        if scale < 1_000_000_000_000_000_000 {
          value = value * 10 + Int64(digit)
          scale *= 10
        }
      }
      return Double(value) / Double(scale)
    }

    /// Reads the offset from UTC, in seconds.
    mutating func zone() -> Int? {
      if isAtEnd || take("Z") || take("z") { return 0 }
      let isNegative = take("-")
      guard isNegative || take("+"), let hours = number(2), hours < 24 else { return nil }
      var minutes = 0
      if take(":") || !isAtEnd {
        guard let found = number(2), found < 60 else { return nil }
        minutes = found
      }
      return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
    }
  }
}
