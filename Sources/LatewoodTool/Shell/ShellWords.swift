/// A line of the shell, split into words.
///
/// Spaces and tabs separate words. Between single quotes every character is literal; between double
/// quotes a backslash makes `"` and `\` literal; outside quotes it makes any character literal.
/// Nothing else is special: no variables, no patterns, no pipes.
struct ShellWords: Equatable {
  /// The complete words.
  var words: [String] = []
  /// The word at the end of the line, without its quotes; nil after a space or in an empty line.
  var last: String?
  /// The quote that is open at the end.
  var openQuote: Character?
  /// Whether the line ends in a backslash that does not precede a character.
  var endsInBackslash = false
  /// The column, from 0, at which the open quote begins.
  var openColumn = 0
  /// The column at which the last word begins, with its quotes.
  var wordColumn = 0

  /// Parses as far as possible, for completion.
  init(partial line: String) {
    var quote: Character?
    var isEscaped = false
    for (column, character) in line.enumerated() {
      if isEscaped {
        isEscaped = false
        if quote != nil, character != "\"", character != "\\" { append("\\") }
        append(character)
      } else if character == "\\", quote != "'" {
        isEscaped = true
        begin(at: column)
      } else if let open = quote {
        if character == open { quote = nil } else { append(character) }
      } else if character == "'" || character == "\"" {
        begin(at: column)
        quote = character
        openColumn = column
      } else if character == " " || character == "\t" {
        if let word = last { words.append(word) }
        last = nil
      } else {
        begin(at: column)
        append(character)
      }
    }
    openQuote = quote
    endsInBackslash = isEscaped
  }

  /// Returns the words of a complete line.
  static func split(_ line: String) throws -> [String] {
    let parsed = ShellWords(partial: line)
    if let quote = parsed.openQuote {
      throw Failure.usage(
        "the quote \(quote) in column \(parsed.openColumn + 1) is not closed",
        advice: "Close it with another \(quote), or write \\\(quote) for the character itself.")
    }
    if parsed.endsInBackslash {
      throw Failure.usage(
        "the line ends in a backslash", advice: "Write \\\\ for a backslash; a command is one line.")
    }
    return parsed.words + (parsed.last.map { [$0] } ?? [])
  }

  /// Returns a word quoted so that it is parsed as itself.
  static func quoted(_ word: String) -> String {
    if !word.isEmpty, !word.contains(where: { " \t'\"\\#".contains($0) }) { return word }
    if !word.contains("'") { return "'\(word)'" }
    return "\"\(word.reduce(into: "") { $0 += $1 == "\"" || $1 == "\\" ? "\\\($1)" : String($1) })\""
  }

  private mutating func begin(at column: Int) {
    guard last == nil else { return }
    last = ""
    wordColumn = column
  }

  private mutating func append(_ character: Character) { last = (last ?? "") + String(character) }
}
