import LatewoodFleece

/// Colour and weight for a terminal, or none.
struct Style: Sendable, Equatable {
  var isColoured: Bool

  static let plain = Style(isColoured: false)

  func bold(_ text: String) -> String { wrapped(text, "1") }
  func dim(_ text: String) -> String { wrapped(text, "2") }
  func good(_ text: String) -> String { wrapped(text, "32") }
  func bad(_ text: String) -> String { wrapped(text, "31") }
  /// Returns text in one of the 256 terminal colours.
  func painted(_ text: String, _ colour: Int) -> String { wrapped(text, "\(Self.colour)\(colour)") }

  /// Returns the code that `bytes` begin with, if it is one of those that this type writes.
  static func code(at bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let text = bytes.prefix(longestCode)
    guard text.starts(with: "\u{1B}[".utf8), let end = text.firstIndex(of: UInt8(ascii: "m")) else {
      return nil
    }
    let numbers = String(decoding: text[(text.startIndex + 2)..<end], as: UTF8.self)
    let isColour = numbers.hasPrefix(colour) && UInt8(numbers.dropFirst(colour.count)) != nil
    return isColour || ["0", "1", "2", "31", "32"].contains(numbers) ? text[...end] : nil
  }

  /// The colours of JSON; nil without colour.
  var jsonColours: JSONOutput.Colours? {
    guard isColoured else { return nil }
    return JSONOutput.Colours(
      key: Self.start("1"), string: Self.start("32"), null: Self.start("2"), end: Self.end)
  }

  private static let colour = "38;5;"
  private static let longestCode = "\u{1B}[38;5;255m".utf8.count

  private func wrapped(_ text: String, _ code: String) -> String {
    isColoured ? Self.start(code) + text + Self.end : text
  }

  private static func start(_ code: String) -> String { "\u{1B}[\(code)m" }
  private static let end = start("0")
}
