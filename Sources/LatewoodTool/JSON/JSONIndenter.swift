/// Indents compact JSON text: a line for each member and element, coloured in the style of a
/// terminal. The text may be passed in pieces of any length.
///
/// The indented text has the same value as the compact one. Control characters that JSON allows in
/// strings, but that a terminal may obey, become escapes.
struct JSONIndenter {
  private let style: Style
  /// The brackets that are open.
  private var open: [UInt8] = []
  /// Whether nothing has followed the last opening bracket yet.
  private var isEmpty = false
  /// Whether the next string is the name of a member.
  private var expectsName = false
  /// A string, a number or a word that has begun.
  private var token: [UInt8] = []
  private var isInString = false
  private var isEscaped = false
  private var output: [UInt8] = []

  init(_ style: Style) { self.style = style }

  /// Returns the readable form of the next piece. Only white space outside strings is added or
  /// removed, and line breaks at the top level stay.
  mutating func indented(_ piece: [UInt8]) -> [UInt8] {
    for byte in piece {
      if isInString { continueString(byte) } else { take(byte) }
    }
    defer { output.removeAll(keepingCapacity: true) }
    return output
  }

  private mutating func take(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""):
      startItem()
      isInString = true
      token = [byte]
    case UInt8(ascii: "{"), UInt8(ascii: "["):
      startItem()
      output.append(byte)
      open.append(byte)
      isEmpty = true
      expectsName = byte == UInt8(ascii: "{")
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      endWord()
      _ = open.popLast()
      if !isEmpty { startLine() }
      output.append(byte)
      isEmpty = false
      expectsName = false
    case UInt8(ascii: ","):
      endWord()
      output.append(byte)
      startLine()
      expectsName = open.last == UInt8(ascii: "{")
    case UInt8(ascii: ":"):
      output += [byte, UInt8(ascii: " ")]
      expectsName = false
    case UInt8(ascii: "\n"):
      endWord()
      if open.isEmpty { output.append(byte) }
    case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): endWord()
    default:
      if token.isEmpty { startItem() }
      token.append(byte)
    }
  }

  private mutating func continueString(_ byte: UInt8) {
    if token.last == 0xC2, (0x80...0x9F).contains(byte) {
      token.removeLast()
      token += Array("\\u00\(Hex.encode([byte]))".utf8)
    } else if byte == 0x7F {
      token += Array("\\u007f".utf8)
    } else {
      token.append(byte)
    }
    if isEscaped {
      isEscaped = false
    } else if byte == UInt8(ascii: "\\") {
      isEscaped = true
    } else if byte == UInt8(ascii: "\"") {
      isInString = false
      let text = String(decoding: token, as: UTF8.self)
      output += Array((expectsName ? style.bold(text) : style.good(text)).utf8)
      token.removeAll(keepingCapacity: true)
    }
  }

  /// Ends a number or a word.
  private mutating func endWord() {
    guard !token.isEmpty else { return }
    let text = String(decoding: token, as: UTF8.self)
    output += Array((text == "null" ? style.dim(text) : text).utf8)
    token.removeAll(keepingCapacity: true)
  }

  private mutating func startItem() {
    guard isEmpty else { return }
    isEmpty = false
    startLine()
  }

  private mutating func startLine() {
    output.append(UInt8(ascii: "\n"))
    for _ in open { output += [UInt8(ascii: " "), UInt8(ascii: " ")] }
  }
}

extension OptionDescription {
  static let pretty = OptionDescription(
    name: "--pretty", summary: "indented JSON, as on a terminal")
  static let compactJSON = OptionDescription(
    name: "--compact", summary: "each JSON text on one line, the default unless the output is a terminal")
}

extension Console {
  /// Chooses the layout of JSON documents: readable on a terminal and compact elsewhere, unless an
  /// option specifies it.
  func chooseLayout(_ arguments: Arguments) throws(Failure) {
    let isPretty = arguments.has(.pretty)
    let isCompact = arguments.has(.compactJSON)
    if isPretty, isCompact { throw .usage("--pretty and --compact do not go together") }
    indenter = isPretty || (isOutputTerminal && !isCompact) ? JSONIndenter(style) : nil
  }

  /// Prints the next piece of compact JSON text of documents, in the chosen layout.
  func writeJSON(_ piece: [UInt8]) throws(Failure) {
    try output.write(indenter?.indented(piece) ?? piece)
  }
}
