import LatewoodBytes

/// Points in time as ISO 8601 text in UTC.
enum Timestamp {
  /// `2026-03-01 09:30:00` for people, with seconds.
  static func shown(microseconds: UInt64) -> String { shown(seconds: microseconds / 1_000_000) }

  static func shown(seconds: UInt64) -> String { CivilTime.text(seconds: clamped(seconds), separator: " ") }

  /// `2026-03-01T09:30:00.123456Z` for programs.
  static func exact(microseconds: UInt64) -> String {
    CivilTime.text(seconds: clamped(microseconds / 1_000_000))
      + ".\(CivilTime.padded(Int64(microseconds % 1_000_000), 6))Z"
  }

  /// `2026-03-01T09:30:00Z` for programs.
  static func exact(seconds: UInt64) -> String { CivilTime.text(seconds: clamped(seconds)) + "Z" }

  /// Numbers from a file may be arbitrary; later times are shown as this one, about the year
  /// 35,000.
  private static func clamped(_ seconds: UInt64) -> Int64 { Int64(min(seconds, 1 << 40)) }

  /// Parses an argument as seconds since 1970: `2026-03-01T09:30:00Z`, `2026-03-01`, `+90s`,
  /// `+15m`, `+12h`, `+7d`, or a number of seconds.
  ///
  /// - Parameter now: the time in seconds to which a `+` is relative.
  static func seconds(_ text: String, now: UInt64) throws -> UInt64 {
    var found: UInt64?
    if text.hasPrefix("+") {
      let units: [Character: UInt64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
      if let unit = text.last.flatMap({ units[$0] }), let count = UInt64(text.dropFirst().dropLast()),
        count < 1 << 32
      {
        found = now + count * unit
      }
    } else if text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
      found = UInt64(text)
    } else if let time = CivilTime.parse(text), time.seconds >= 0 {
      found = UInt64(time.seconds)
    }
    guard let found, found < 1 << 40 else {
      throw Failure.usage(
        "\(Arguments.quoted(Array(text.utf8))) is not a time",
        advice: "Write 2026-03-01T09:30:00Z, or +90s, +15m, +12h, +7d from now, or seconds since 1970.")
    }
    return found
  }
}
