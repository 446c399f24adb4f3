/// Formats numbers in a readable form.
enum Quantity {
  /// `1,234,567`
  static func count(_ number: some BinaryInteger) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return text
  }

  /// `1 entry`, `2 entries`
  static func count(_ number: some BinaryInteger, _ one: String, _ many: String) -> String {
    "\(count(number)) \(number == 1 ? one : many)"
  }

  /// `512 bytes`, `1.5 KiB`, `12 MiB`
  static func bytes(_ number: UInt64) -> String {
    guard number >= 1024 else { return count(number, "byte", "bytes") }
    var value = Double(number)
    var unit = ""
    for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1023.95 || unit.isEmpty {
      value /= 1024
      unit = next
    }
    return "\(decimal(value)) \(unit)"
  }

  /// `850 ns`, `12.5 µs`, `3.1 ms`, `2.4 s`
  static func duration(nanoseconds: UInt64) -> String {
    switch nanoseconds {
    case ..<1_000: "\(nanoseconds) ns"
    case ..<1_000_000: "\(decimal(Double(nanoseconds) / 1e3)) µs"
    case ..<1_000_000_000: "\(decimal(Double(nanoseconds) / 1e6)) ms"
    default: "\(decimal(Double(nanoseconds) / 1e9)) s"
    }
  }

  /// `12%`; a share that is not quite everything is never shown as 100%.
  static func share(_ part: UInt64, of whole: UInt64) -> String {
    guard whole > 0 else { return "0%" }
    return "\(Int(Double(min(part, whole)) / Double(whole) * 100))%"
  }

  /// Formats with one decimal below 100, and otherwise without decimals.
  private static func decimal(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    guard tenths < 1000 else { return count(Int(value.rounded())) }
    return tenths.isMultiple(of: 10) ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}
