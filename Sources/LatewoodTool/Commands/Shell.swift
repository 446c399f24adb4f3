import LatewoodDevice

extension OptionDescription {
  static let historyFile = OptionDescription(
    name: "--history", value: "FILE", summary: "keep the history in this file")
  static let noHistory = OptionDescription(
    name: "--no-history", summary: "keep no history, and ignore that of earlier runs")
  static let keepGoing = OptionDescription(
    name: "--keep-going", summary: "without a terminal: continue after a command that fails")
}

extension CommandDescription {
  static let shell = CommandDescription(
    name: "shell",
    summary: "type statements, selectors and commands for one database",
    operands: [.database],
    options: [.historyFile, .noHistory, .keepGoing],
    discussion: [
      "A line that begins with SELECT is a statement in SQL++; a brace begins a selector for find. Both may go over several lines. A statement ends at a semicolon, a selector at its last brace. "
        + "Any other line is a command as it would be typed outside, without `latewood` and without DATABASE. Words "
        + "are separated by spaces. Between single quotes every character stands for itself; between double "
        + "quotes \\\" is a quote and \\\\ a backslash; elsewhere a backslash makes the character after "
        + "it an ordinary one. A line that starts with # is a comment.",
      "At a terminal: left, right, home, end, ctrl-A and ctrl-E move; ctrl-K and ctrl-U delete to the end "
        + "and to the start, ctrl-W a word; up and down fetch earlier lines; ctrl-R searches "
        + "them: each letter narrows the search, ctrl-R again goes further back, ctrl-G ends it. tab completes "
        + "commands, options, fields, collections, keyspaces and paths, and pressed twice lists the choices. "
        + "ctrl-C discards a line or a statement or stops a command; ctrl-D or exit leaves.",
      "Lines typed at a terminal are kept between runs, readable only by you, in latewood/history in "
        + "XDG_STATE_HOME or ~/.local/state. --history or LATEWOOD_HISTORY names another file; --no-history or an empty "
        + "LATEWOOD_HISTORY switches this off.",
      "If standard input is not a terminal, its lines and statements are run without a prompt. The first command that fails "
        + "ends the shell with its exit code; with --keep-going the rest still runs, and the first failure "
        + "determines the exit code.",
      "Each command opens the file anew, so the shell does not keep others from using it. The password of an "
        + "encrypted database is asked for once.",
    ],
    examples: [
      ExampleDescription(line: "latewood my.latewood", explanation: "A prompt appears."),
      ExampleDescription(
        line: "latewood my.latewood < commands.txt", explanation: "Runs the lines of a file."),
    ]
  ) { arguments, console in
    let path = try arguments.text(0)
    let key = try FileKey.Handover(arguments)
    // A terminal without control sequences provides its own line editing, if any.
    let canEdit = console.isOutputTerminal && CurrentProcess.environmentVariable("TERM") != "dumb"
    guard console.input.isTerminal, canEdit else {
      let session = ShellSession(console, database: path, key: key, history: try ShellHistory(path: nil))
      return try session.follow(keepsGoing: arguments.has(.keepGoing) || console.input.isTerminal)
    }
    let session = ShellSession(
      console, database: path, key: key, history: try history(arguments, on: console))
    return try session.runInteractively()
  }

  private static func history(_ arguments: Arguments, on console: Console) throws -> ShellHistory {
    if let chosen = try arguments.text(of: .historyFile) {
      guard !arguments.has(.noHistory) else {
        throw Failure.usage("--history and --no-history do not go together")
      }
      return try ShellHistory(path: chosen)
    }
    guard !arguments.has(.noHistory) else { return try ShellHistory(path: nil) }
    do { return try ShellHistory(path: ShellHistory.usualPath()) } catch {
      try console.report(Failure(error))
      return try ShellHistory(path: nil)
    }
  }
}
