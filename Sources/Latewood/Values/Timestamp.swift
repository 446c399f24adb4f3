import LatewoodBytes

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Points in time as ISO 8601 text, `2026-03-01T09:30:00.000Z`.
enum Timestamp {
  /// Midnight of 1 January of the year 0, and the last millisecond of 9999, in milliseconds since
  /// 1970.
  private static let range: ClosedRange<Int64> = -62_167_219_200_000...253_402_300_799_999

  static let rangeFault = "a date outside of the years 0 to 9999 cannot be stored"

  /// The seconds from the start of 1970 to the start of 2001, from which a `Date` counts.
  private static let reference: Int64 = 978_307_200

  /// The permitted numbers of digits after the point, with their powers of ten. There are few of
  /// them, because texts sort in the order of the dates only if they have the same number of
  /// digits.
  private static let precisions: [(digits: Int, scale: Double)] = [
    (7, 1e7), (9, 1e9), (12, 1e12), (15, 1e15), (18, 1e18),
  ]

  /// Returns the shortest text that parses back to the same date: in milliseconds or, if that is
  /// not exact, with the fewest digits that are. Returns nil if the date is outside the years 0 to
  /// 9999.
  static func text(_ date: Date) -> String? {
    let exact = (date.timeIntervalSince1970 * 1000).rounded()
    guard let milliseconds = Int64(exactly: exact), range.contains(milliseconds) else { return nil }
    let thousandths = ((milliseconds % 1000) + 1000) % 1000
    let start = (milliseconds - thousandths) / 1000
    if self.date(start, Double(thousandths) / 1000) != date {
      let seconds = date.timeIntervalSinceReferenceDate
      let whole = seconds.rounded(.down)
      let start = Int64(whole) + reference
      for (digits, scale) in precisions where start >= range.lowerBound / 1000 {
        let rest = ((seconds - whole) * scale).rounded()
        if rest < scale, self.date(start, rest / scale) == date {
          return CivilTime.text(seconds: start, fraction: (Int64(rest), digits))
        }
      }
      // The date is less than a second from the start of 2001, where it can be finer than any text.
    }
    return CivilTime.text(seconds: start, fraction: (thousandths, 3))
  }

  /// Returns the point in time that a text describes; nil if the text is not valid. See `CivilTime`
  /// for the accepted forms.
  static func date(_ text: String) -> Date? {
    CivilTime.parse(text).map { date($0.seconds, $0.fraction) }
  }

  /// The same for the bytes of a text.
  static func date(_ text: UnsafeRawBufferPointer) -> Date? {
    CivilTime.parse(text).map { date($0.seconds, $0.fraction) }
  }

  /// Returns the point in time for the seconds since 1970 and a fraction of a second.
  private static func date(_ seconds: Int64, _ fraction: Double) -> Date {
    // Times in milliseconds are computed from the seconds since 1970, as JSON readers do. These
    // large numbers would lose finer parts.
    let thousandths = fraction * 1000
    if thousandths == thousandths.rounded() {
      return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }
    return Date(timeIntervalSinceReferenceDate: Double(seconds - reference) + fraction)
  }
}
