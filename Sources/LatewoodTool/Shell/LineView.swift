/// Draws a prompt and the line after it in one row of the terminal. A longer line scrolls
/// horizontally with the cursor.
struct LineView {
  var prompt: String
  var style: Style

  /// Returns the output that draws `line` with the cursor at its position.
  func drawn(_ line: EditedLine, in width: Int) -> String {
    let prompt = TerminalText.escaped(prompt)
    // The last column stays free, because terminals differ in what happens after it.
    let room = max(width - DisplayWidth.of(prompt) - 1, 8)
    let shown = Self.suffix(of: Self.visible(line.before), columns: room)
    let cursor = DisplayWidth.of(shown)
    let rest = Self.prefix(of: Self.visible(line.after), columns: room - cursor)
    let column = DisplayWidth.of(prompt) + cursor
    return "\r\u{1B}[K" + style.bold(prompt) + shown + rest + "\r" + (column > 0 ? "\u{1B}[\(column)C" : "")
  }

  /// Replaces characters that the terminal would obey, or that hide others, by symbols of one
  /// column.
  private static func visible(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: isReplaced) else { return text }
    return String(String.UnicodeScalarView(text.unicodeScalars.map { isReplaced($0) ? "·" : $0 }))
  }

  private static func isReplaced(_ scalar: Unicode.Scalar) -> Bool {
    scalar.value < 0x20 || TerminalText.isEscaped(scalar)
  }

  private static func suffix(of text: String, columns: Int) -> Substring {
    var used = 0
    var start = text.endIndex
    for (index, character) in zip(text.indices.reversed(), text.reversed()) {
      used += DisplayWidth.of(String(character))
      guard used <= columns else { break }
      start = index
    }
    return text[start...]
  }

  private static func prefix(of text: String, columns: Int) -> String {
    var used = 0
    return String(
      text.prefix { character in
        used += DisplayWidth.of(String(character))
        return used <= columns
      })
  }
}
