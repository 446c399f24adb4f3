/// The manual page, latewood(1), derived from the descriptions of the commands, in the macros of
/// man(7).
struct ManualPage {
  private(set) var text = ""
  /// Whether the last line was a heading, after which a paragraph needs no mark.
  private var isBelowHeading = false

  init(of commands: [CommandDescription], version: String) {
    let shown = commands.filter { !$0.isHidden }
    line(".TH LATEWOOD 1 \"\" \"latewood \(version)\" \"User Commands\"")
    section("NAME")
    line("latewood \\- a database of documents or key-values in one file")
    section("SYNOPSIS")
    line(shown.map { Self.bold(HelpText.usage(of: $0)) }.joined(separator: "\n.br\n"))
    section("DESCRIPTION")
    paragraph(HelpText.keys)
    paragraph(HelpText.environment)
    section("COMMANDS")
    for command in shown { add(command) }
    section("EXIT STATUS")
    for (code, meaning) in HelpText.exitCodes { item(code, meaning) }
  }

  private mutating func add(_ command: CommandDescription) {
    line(".SS " + Self.quoted(HelpText.usage(of: command)))
    isBelowHeading = true
    paragraph("\(command.fullName): \(command.summary).")
    for operand in command.operands { item(operand.name, operand.summary) }
    for option in command.allOptions { item(HelpText.signature(of: option), option.summary) }
    for text in command.discussion { paragraph(text) }
    for example in command.examples {
      line(".PP\n.nf\n.RS 4\n" + Self.bold(example.line) + "\n.RE\n.fi")
      line(".RS 8\n" + Self.escaped(example.explanation) + "\n.RE")
    }
    guard !command.json.isEmpty else { return }
    paragraph("With --json:")
    line(".nf\n.RS 4\n" + command.json.map(Self.escaped).joined(separator: "\n") + "\n.RE\n.fi")
  }

  private mutating func section(_ title: String) {
    line(".SH \(title)")
    isBelowHeading = true
  }
  private mutating func paragraph(_ words: String) {
    if !isBelowHeading { line(".PP") }
    line(Self.escaped(words))
  }
  private mutating func item(_ name: String, _ words: String) {
    line(".TP\n\(Self.bold(name))\n\(Self.escaped(words))")
  }
  private mutating func line(_ line: String) {
    text += line + "\n"
    isBelowHeading = false
  }

  private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }
  private static func quoted(_ text: String) -> String {
    "\"" + escaped(text).split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\\(dq")
      + "\""
  }

  /// Returns text in literal form: characters special to roff are written by name, and no line
  /// begins a request.
  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\e"
      case "-": result += "\\-"
      case "'": result += "\\(aq"
      case "`": result += "\\(ga"
      case "^": result += "\\(ha"
      case "~": result += "\\(ti"
      case _ where !scalar.isASCII: result += "\\[u" + hex(scalar) + "]"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result.hasPrefix(".") ? "\\&" + result : result
  }

  private static func hex(_ scalar: Unicode.Scalar) -> String {
    let digits = String(scalar.value, radix: 16, uppercase: true)
    return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
  }
}
