import LatewoodDevice

/// Where a command's words go: standard output for what was asked, standard error for everything
/// else.
final class Console {
  let input: ByteInput
  let output: Output
  let error: Output
  let style: Style
  let errorStyle: Style
  let isOutputTerminal: Bool
  let isErrorTerminal: Bool
  /// Columns for one line of output.
  let width: Int
  /// Columns for one line of what is said beside the output.
  let errorWidth: Int
  /// `--json` was given.
  var printsJSON = false

  /// On the standard streams of this process.
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

  /// On outputs of any kind, without colour.
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
  }

  /// In fewer columns nothing could be shown; in more, lines are hard to follow.
  private static func width(of terminal: Int?) -> Int { min(max(terminal ?? 80, 40), 200) }

  /// Columns for sentences.
  var proseWidth: Int { min(width, HelpText.width) }

  /// The next bytes of standard input; none at its end.
  func readInput() throws(Failure) -> [UInt8] {
    do { return try input.readSome() } catch { throw Failure(error) }
  }

  func line(_ text: String) throws(Failure) { try output.line(text) }

  /// Prints a line of a table, of which a terminal that is too narrow shows the beginning.
  func row(_ text: String) throws(Failure) {
    try line(isOutputTerminal ? DisplayWidth.fitted(styled: text, to: width) : text)
  }

  /// Prints a sentence or two, broken into lines for a terminal.
  func sentence(_ text: String) throws(Failure) {
    guard isOutputTerminal else { return try line(text) }
    try output.write(HelpText.paragraph(text, indent: 0, width: proseWidth))
  }

  /// Prints one JSON document.
  func json(_ build: (inout JSONWriter) -> Void) throws(Failure) {
    var writer = JSONWriter()
    build(&writer)
    writer.lineBreak()
    try output.write(writer.take())
  }

  /// Prints one JSON object.
  func object(_ members: (inout JSONWriter) -> Void) throws(Failure) {
    try json { writer in
      writer.beginObject()
      members(&writer)
      writer.endObject()
    }
  }

  /// Prints names and what belongs to them in two columns.
  func fields(_ rows: [(name: String, value: String)]) throws(Failure) {
    let column = (rows.map { DisplayWidth.of($0.name) }.max() ?? 0) + 2
    for row in rows {
      try line(DisplayWidth.padded(row.name, to: column) + DisplayWidth.fitted(row.value, to: width - column))
    }
  }

  /// Says something beside the result, on standard error.
  func note(_ text: String) throws(Failure) {
    try error.line(text)
    try error.flush()
  }

  /// The same, of a sentence or two, broken into lines for a terminal.
  func noteSentence(_ text: String) throws(Failure) {
    try paragraph(text)
    try error.flush()
  }

  func flush() throws(Failure) {
    try output.flush()
    try error.flush()
  }

  /// Tells of a failure: two lines for people, one object for programs.
  func report(_ failure: Failure) throws(Failure) {
    if printsJSON {
      var writer = JSONWriter()
      failure.write(to: &writer)
      writer.lineBreak()
      try error.write(writer.take())
    } else {
      var place = failure.path.map { ": " + KeyText.shown($0.utf8) } ?? ""
      if let line = failure.line { place += ", line \(line)" }
      if let column = failure.column { place += ", column \(column)" }
      if let offset = failure.offset { place += ", offset \(offset)" }
      try paragraph("\(errorStyle.bad("latewood"))\(place): \(failure.message).")
      if !failure.advice.isEmpty { try paragraph(failure.advice) }
    }
    try error.flush()
  }
}

extension Console {
  /// A sentence on standard error, broken into lines only for a terminal: elsewhere programs may be
  /// looking for it.
  private func paragraph(_ text: String) throws(Failure) {
    try error.write(
      isErrorTerminal
        ? HelpText.paragraph(text, indent: 0, width: min(errorWidth, HelpText.width)) : text + "\n")
  }
}

extension Failure {
  /// `{"error":{"code":…,"message":…,"advice":…,"path":…,"offset":…,"line":…,"column":…}}`, the
  /// last four where they are known.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.name("error")
    writer.beginObject()
    writer.member("code", code)
    writer.member("message", message)
    writer.member("advice", advice)
    if let path { writer.member("path", path) }
    if let offset { writer.member("offset", offset) }
    if let line { writer.member("line", line) }
    if let column { writer.member("column", column) }
    writer.endObject()
    writer.endObject()
  }
}
