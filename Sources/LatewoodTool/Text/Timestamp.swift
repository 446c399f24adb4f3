/// Points in time as ISO 8601 text in UTC.
enum Timestamp {
  /// `2026-03-01 09:30:00` for people, with seconds.
  static func shown(microseconds: UInt64) -> String { text(microseconds, between: " ", fraction: false) }

  /// `2026-03-01T09:30:00.123456Z` for programs.
  static func exact(microseconds: UInt64) -> String { text(microseconds, between: "T", fraction: true) + "Z" }

  private static func text(_ microseconds: UInt64, between: String, fraction: Bool) -> String {
    let seconds = Int(microseconds / 1_000_000)
    let day = date(daysSince1970: seconds / 86_400)
    let clock = seconds % 86_400
    var text = "\(padded(day.year, 4))-\(padded(day.month, 2))-\(padded(day.day, 2))\(between)"
    text += "\(padded(clock / 3600, 2)):\(padded(clock / 60 % 60, 2)):\(padded(clock % 60, 2))"
    return fraction ? text + "." + padded(Int(microseconds % 1_000_000), 6) : text
  }

  /// The proleptic Gregorian calendar, by Howard Hinnant's `civil_from_days`: years start in March, so that leap days come last.
  private static func date(daysSince1970: Int) -> (year: Int, month: Int, day: Int) {
    let days = daysSince1970 + 719_468
    let era = days / 146_097
    let dayOfEra = days % 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}
