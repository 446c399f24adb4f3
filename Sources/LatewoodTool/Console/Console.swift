import LatewoodDevice
import LatewoodFleece
import LatewoodTerminal

/// The output of a command: results go to standard output, everything else to standard error.
final class Console {
  let input: ByteInput
  let output: Output
  let error: Output
  let style: Style
  let errorStyle: Style
  let isOutputTerminal: Bool
  let isErrorTerminal: Bool
  /// The number of columns in a line of output.
  let width: Int
  /// The number of columns in a line on standard error.
  let errorWidth: Int
  /// Whether `--json` was given.
  var printsJSON = false
  /// The JSON of documents, in the chosen layout, since the last call of `writeDocuments`.
  var documents = JSONOutput()

  /// Creates a console on the standard streams of this process.
  init(_ streams: StandardStreams) {
    input = streams.input
    output = Output(streams.output)
    error = Output(streams.error)
    isOutputTerminal = streams.output.isTerminal
    isErrorTerminal = streams.error.isTerminal
    let wantsColour =
      (CurrentProcess.environmentVariable("NO_COLOR") ?? "").isEmpty
      && CurrentProcess.environmentVariable("TERM") != "dumb"
    style = Style(isColoured: isOutputTerminal && wantsColour)
    errorStyle = Style(isColoured: isErrorTerminal && wantsColour)
    width = isOutputTerminal ? Self.width(of: streams.output.terminalWidth) : 80
    errorWidth = isErrorTerminal ? Self.width(of: streams.error.terminalWidth) : 80
  }

  /// Creates a console on outputs of any kind, without colour.
  init(input: ByteInput, output: Output, error: Output, isTerminal: Bool = false, width: Int = 80) {
    self.input = input
    self.output = output
    self.error = error
    isOutputTerminal = isTerminal
    isErrorTerminal = isTerminal
    style = .plain
    errorStyle = .plain
    self.width = width
    errorWidth = width
    output.isTerminal = isTerminal
    error.isTerminal = isTerminal
  }

  /// Limits the width: fewer columns are not useful, and longer lines are hard to read.
  private static func width(of terminal: Int?) -> Int { min(max(terminal ?? 80, 40), 200) }

  /// The number of columns for prose.
  var proseWidth: Int { min(width, HelpText.width) }

  /// Returns the next bytes of standard input; an empty array at its end.
  func readInput() throws -> [UInt8] {
    try input.readSome()
  }

  func line(_ text: String) throws { try output.line(text) }

  /// Prints a line of a table; a narrow terminal shows only its beginning.
  func row(_ text: String) throws {
    try line(
      isOutputTerminal ? DisplayWidth.fitted(styled: TerminalText.escaped(text), to: width) : text)
  }

  /// Prints a sentence or two, broken into lines on a terminal.
  func sentence(_ text: String) throws {
    guard isOutputTerminal else { return try line(text) }
    try output.write(HelpText.paragraph(TerminalText.escaped(text), indent: 0, width: proseWidth))
  }

  /// Chooses the layout of JSON documents: readable on a terminal and compact elsewhere, unless an
  /// option specifies it.
  func chooseLayout(_ arguments: Arguments) throws {
    let isPretty = arguments.has(.pretty)
    let isCompact = arguments.has(.compactJSON)
    if isPretty, isCompact { throw Failure.usage("--pretty and --compact do not go together") }
    let isReadable = isPretty || (isOutputTerminal && !isCompact)
    documents = JSONOutput(isReadable ? .readable(style.jsonColours) : .canonical)
  }

  /// Prints the JSON of documents that has been built since the last call.
  func writeDocuments() throws { try output.write(documents.take()) }

  /// Prints one JSON document.
  func json(_ build: (inout JSONOutput) -> Void) throws {
    var writer = JSONOutput()
    build(&writer)
    writer.lineBreak()
    try output.write(writer.take())
  }

  /// Prints one JSON object.
  func object(_ members: (inout JSONOutput) -> Void) throws {
    try json { writer in
      writer.beginDictionary()
      members(&writer)
      writer.endDictionary()
    }
  }

  /// Prints names and their values in two columns.
  func fields(_ rows: [(name: String, value: String)]) throws {
    let column = (rows.map { DisplayWidth.of($0.name) }.max() ?? 0) + 2
    for row in rows {
      let value = isOutputTerminal ? TerminalText.escaped(row.value) : row.value
      try line(DisplayWidth.padded(row.name, to: column) + DisplayWidth.fitted(value, to: width - column))
    }
  }

  /// Prints a remark on standard error.
  func note(_ text: String) throws {
    try error.line(text)
    try error.flush()
  }

  /// Prints a sentence or two on standard error, broken into lines on a terminal.
  func noteSentence(_ text: String) throws {
    try paragraph(text)
    try error.flush()
  }

  /// Reports an empty list on standard error, because standard output contains only the listed
  /// items, for the next program of a pipe. JSON output contains an empty array instead.
  func noteEmpty(_ text: String) throws {
    if !printsJSON { try noteSentence(text) }
  }

  func flush() throws {
    try output.flush()
    try error.flush()
  }

  /// Reports a failure: as two lines for people, as one object for programs.
  func report(_ failure: Failure) throws {
    if printsJSON {
      var writer = JSONOutput()
      failure.write(to: &writer)
      writer.lineBreak()
      try error.write(writer.take())
    } else {
      var place = failure.path.map { ": " + KeyText.shown($0.utf8) } ?? ""
      if let line = failure.line { place += ", line \(line)" }
      if let column = failure.column { place += ", column \(column)" }
      if let offset = failure.offset { place += ", offset \(offset)" }
      // Escaped also where it is not a terminal: messages end up in logs that people read on one.
      let shown = TerminalText.escapedData
      try paragraph("\(errorStyle.bad("latewood"))\(place): \(shown(failure.message)).")
      if let excerpt = failure.excerpt { try error.write(shown(excerpt) + "\n") }
      if !failure.advice.isEmpty { try paragraph(shown(failure.advice)) }
    }
    try error.flush()
  }
}

extension OptionDescription {
  static let pretty = OptionDescription(
    name: "--pretty", summary: "indented JSON, as on a terminal")
  static let compactJSON = OptionDescription(
    name: "--compact", summary: "each JSON text on one line, the default unless the output is a terminal")
}

extension Console {
  /// Prints a sentence on standard error, broken into lines only on a terminal: elsewhere programs
  /// may search for it.
  private func paragraph(_ text: String) throws {
    try error.write(
      isErrorTerminal
        ? HelpText.paragraph(text, indent: 0, width: min(errorWidth, HelpText.width)) : text + "\n")
  }
}

extension Failure {
  /// Writes an object with the member `error`: its `code`, `message` and `advice`, and its `path`,
  /// `offset`, `line` and `column` if they are known.
  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.key("error")
    writer.beginDictionary()
    writer.member("code", code)
    writer.member("message", message)
    writer.member("advice", advice)
    if let path { writer.member("path", path) }
    if let offset { writer.member("offset", offset) }
    if let line { writer.member("line", line) }
    if let column { writer.member("column", column) }
    writer.endDictionary()
    writer.endDictionary()
  }
}
