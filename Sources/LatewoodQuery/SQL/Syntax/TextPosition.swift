/// A position in a text of one or more lines.
package struct TextPosition: Sendable, Equatable {
  /// The line, counted from 1.
  package let line: Int
  /// The column in Unicode scalars, counted from 1.
  package let column: Int
  /// The offset in bytes, counted from 0.
  package let offset: Int

  /// - Parameters:
  ///   - offset: the offset in bytes, at most the length of the text.
  ///   - text: the text in UTF-8.
  package init(offset: Int, in text: [UInt8]) {
    let before = text.prefix(offset)
    let lineStart = (before.lastIndex(of: UInt8(ascii: "\n")) ?? -1) + 1
    line = before.count { $0 == UInt8(ascii: "\n") } + 1
    column = before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1
    self.offset = offset
  }

  /// Returns the line of the text that contains the position, with a caret below it. Control
  /// characters become spaces, and a long line is cut to the part around the position.
  package func excerpt(of text: String) -> String {
    // Iterate over scalars: a carriage return with a line feed is a single character.
    let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
    guard line <= lines.count else { return "" }
    let scalars = lines[line - 1].map { $0.properties.generalCategory == .control ? " " : $0 }
    let first = max(0, column - 1 - 60)
    var excerpt = String.UnicodeScalarView()
    excerpt.append(contentsOf: scalars.dropFirst(first).prefix(78))
    return String(excerpt) + "\n" + String(repeating: " ", count: column - 1 - first) + "^"
  }
}
