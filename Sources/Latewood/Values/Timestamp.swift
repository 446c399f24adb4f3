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

  /// The seconds from the start of 1970 to that of 2001, from which a `Date` counts.
  private static let reference: Int64 = 978_307_200

  /// The numbers of digits after the point that texts have, and the powers of ten. Few different
  /// ones, because texts are in the order of the dates only if they have the same number of digits.
  private static let precisions: [(digits: Int, scale: Double)] = [
    (7, 1e7), (9, 1e9), (12, 1e12), (15, 1e15), (18, 1e18),
  ]

  /// Returns the text of a date, as short as gives the same date again: milliseconds, or the fewest
  /// digits that do. Nil if the date is outside of the years 0 to 9999.
  static func text(_ date: Date) -> String? {
    guard let nearest = milliseconds(date) else { return nil }
    if Timestamp.date(nearest) == date { return nearest }
    let seconds = date.timeIntervalSinceReferenceDate
    let whole = seconds.rounded(.down)
    let start = CivilTime.text(seconds: Int64(whole) + reference)
    for (digits, scale) in precisions {
      let rest = ((seconds - whole) * scale).rounded()
      guard rest < scale else { continue }
      let text = "\(start).\(CivilTime.padded(Int64(rest), digits))Z"
      if Timestamp.date(text) == date { return text }
    }
    // Less than a second from the start of 2001, where a date can be finer than any text.
    return nearest
  }

  /// Returns the text of a date to the nearest millisecond.
  private static func milliseconds(_ date: Date) -> String? {
    let exact = (date.timeIntervalSince1970 * 1000).rounded()
    guard let milliseconds = Int64(exactly: exact), range.contains(milliseconds) else { return nil }
    let rest = ((milliseconds % 1000) + 1000) % 1000
    return CivilTime.text(seconds: (milliseconds - rest) / 1000) + ".\(CivilTime.padded(rest, 3))Z"
  }

  /// Returns the point in time of a text; nil if it is not valid. See `CivilTime` for the accepted
  /// forms.
  static func date(_ text: String) -> Date? {
    guard let time = CivilTime.parse(text) else { return nil }
    // Up to milliseconds as JSON readers make it, by seconds since 1970. Finer parts would be lost
    // in these greater numbers.
    let thousandths = time.fraction * 1000
    if thousandths == thousandths.rounded() {
      return Date(timeIntervalSince1970: Double(time.seconds) + time.fraction)
    }
    return Date(timeIntervalSinceReferenceDate: Double(time.seconds - reference) + time.fraction)
  }
}
