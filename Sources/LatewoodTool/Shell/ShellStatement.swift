/// A statement in SQL++ or a selector that is typed into the shell, over one line or several.
///
/// A statement begins with SELECT, and ends at a semicolon outside of quotes and comments. A
/// selector begins with a brace, and ends at the brace that closes it, or at a semicolon.
struct ShellStatement: Equatable {
  enum Kind: Equatable { case statement, selector }

  private enum Comment { case line, block }

  let kind: Kind
  /// The lines so far.
  private(set) var text = ""
  private(set) var openQuote: Character?
  private var isEscaped = false
  private var comment: Comment?
  private var hasLineComment = false
  private var hasLineBreakInQuotes = false
  private var depth = 0
  /// The character before the next one on its line, unless it belongs to the mark of a comment.
  private var previous: Character?

  /// Returns nil for a line that is a command.
  init?(startOf line: String) {
    let start = line.drop(while: \.isWhitespace)
    if start.first == "{" {
      kind = .selector
    } else if start.prefix(6).lowercased() == "select", start.dropFirst(6).first.map(Self.endsWord) ?? true {
      kind = .statement
    } else {
      return nil
    }
  }

  private static func endsWord(_ character: Character) -> Bool {
    !(character.isLetter || character.isNumber || character == "_")
  }

  /// Takes a line. Returns what follows the end of the statement on the line; nil if the statement
  /// goes over further lines.
  mutating func take(_ line: String) -> String? {
    if !text.isEmpty {
      text += "\n"
      hasLineBreakInQuotes = hasLineBreakInQuotes || openQuote != nil
    }
    previous = nil
    if comment == .line { comment = nil }
    for (place, character) in zip(line.indices, line) {
      if takes(character) {
        if character != ";" { text.append(character) }
        return line[line.index(after: place)...].drop { $0.isWhitespace || $0 == ";" }.description
      }
      text.append(character)
    }
    return nil
  }

  /// Returns whether a character ends the statement.
  private mutating func takes(_ character: Character) -> Bool {
    let before = previous
    previous = character
    if let comment {
      if comment == .block, before == "*", character == "/" { (self.comment, previous) = (nil, nil) }
      return false
    }
    if let quote = openQuote {
      // SQL++ doubles a quote, which closes and opens it again.
      if isEscaped {
        isEscaped = false
      } else if character == "\\", quote != "`" {
        isEscaped = true
      } else if character == quote {
        openQuote = nil
      }
      return false
    }
    switch (before, character) {
    case ("-"?, "-") where kind == .statement: (comment, hasLineComment) = (.line, true)
    case ("/"?, "*") where kind == .statement: (comment, previous) = (.block, nil)
    default: return endsOutside(character)
    }
    return false
  }

  /// Returns whether a character outside of quotes and comments ends the statement.
  private mutating func endsOutside(_ character: Character) -> Bool {
    switch character {
    case "\"", "'", "`":
      if kind == .statement || character == "\"" { openQuote = character }
    case "{", "[": depth += 1
    case "}", "]":
      depth -= 1
      return kind == .selector && depth <= 0
    case ";": return true
    default: break
    }
    return false
  }

  /// The words of the command that runs it.
  var words: [String] { [kind == .statement ? "query" : "find", text] }

  /// The text in one line, for the history; nil if a comment would hide its end, or if a string has
  /// a line break.
  var line: String? {
    guard !hasLineComment, !hasLineBreakInQuotes else { return nil }
    return text.split(separator: "\n").joined(separator: " ") + (kind == .statement ? ";" : "")
  }
}
