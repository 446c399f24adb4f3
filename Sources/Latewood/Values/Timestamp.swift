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

  /// Returns the text of a date to the nearest millisecond; nil if that is outside of the years 0
  /// to 9999.
  static func text(_ date: Date) -> String? {
    let exact = (date.timeIntervalSince1970 * 1000).rounded()
    guard let milliseconds = Int64(exactly: exact), range.contains(milliseconds) else { return nil }
    let rest = ((milliseconds % 1000) + 1000) % 1000
    return CivilTime.text(seconds: (milliseconds - rest) / 1000) + ".\(CivilTime.padded(rest, 3))Z"
  }

  /// Returns the point in time of a text; nil if it is not valid. See `CivilTime` for the accepted
  /// forms.
  static func date(_ text: String) -> Date? {
    CivilTime.parse(text).map { Date(timeIntervalSince1970: Double($0.seconds) + $0.fraction) }
  }
}
