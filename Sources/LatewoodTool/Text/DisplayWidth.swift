/// The number of terminal columns of text.
enum DisplayWidth {
  static func of(_ text: some StringProtocol) -> Int {
    text.unicodeScalars.reduce(0) { $0 + of($1) }
  }

  /// Returns the columns of text that `Style` may have coloured.
  static func of(plain text: String) -> Int {
    let parts = text.split(separator: "\u{1B}", omittingEmptySubsequences: false)
    return parts.dropFirst().reduce(of(parts.first ?? "")) { width, part in
      width + of(part.firstIndex(of: "m").map { part[part.index(after: $0)...] } ?? part)
    }
  }

  /// Returns `text`, or as much of it as fits into `width` columns with a mark for the omission.
  static func fitted(_ text: String, to width: Int) -> String {
    // Text with fewer bytes than columns, which is common, cannot be too wide.
    if text.utf8.count <= width || of(text) <= width { return text }
    var result = String.UnicodeScalarView()
    var used = 0
    for scalar in text.unicodeScalars {
      let columns = of(scalar)
      if used + columns > width - 1 { break }
      used += columns
      result.append(scalar)
    }
    return String(result) + "…"
  }

  /// Like the function above, for text that `Style` may have coloured: escape sequences take no
  /// columns and are all kept.
  static func fitted(styled text: String, to width: Int) -> String {
    let parts = text.split(separator: "\u{1B}", omittingEmptySubsequences: false)
    var plain = String(parts.first ?? "")
    var codes: [(at: Int, code: String)] = []
    for part in parts.dropFirst() {
      guard let end = part.firstIndex(of: "m") else { return text }
      codes.append((plain.unicodeScalars.count, "\u{1B}" + part[...end]))
      plain += part[part.index(after: end)...]
    }
    let kept = Array(fitted(plain, to: width).unicodeScalars)
    var result = String.UnicodeScalarView()
    var next = 0
    for (at, code) in codes {
      result.append(contentsOf: kept[next..<max(next, min(at, kept.count))])
      next = max(next, min(at, kept.count))
      result.append(contentsOf: code.unicodeScalars)
    }
    result.append(contentsOf: kept[next...])
    return String(result)
  }

  static func padded(_ text: String, to width: Int, right: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - of(text)))
    return right ? space + text : text + space
  }

  private static func of(_ scalar: Unicode.Scalar) -> Int {
    if scalar.isASCII { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    // The blocks that Unicode Standard Annex 11 lists as wide, merged if only unassigned characters
    // lie in between.
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF,
      0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF,
      0x1F900...0x1F9FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}
