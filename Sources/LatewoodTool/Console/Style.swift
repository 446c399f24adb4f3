/// Colour and weight for a terminal, or none.
struct Style: Sendable, Equatable {
  var isColoured: Bool

  static let plain = Style(isColoured: false)

  func bold(_ text: String) -> String { wrapped(text, "1") }
  func dim(_ text: String) -> String { wrapped(text, "2") }
  func good(_ text: String) -> String { wrapped(text, "32") }
  func bad(_ text: String) -> String { wrapped(text, "31") }
  /// Returns text in one of the 256 terminal colours.
  func painted(_ text: String, _ colour: Int) -> String { wrapped(text, "38;5;\(colour)") }

  private func wrapped(_ text: String, _ code: String) -> String {
    isColoured ? "\u{1B}[\(code)m\(text)\u{1B}[0m" : text
  }
}
