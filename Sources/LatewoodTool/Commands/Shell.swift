import LatewoodDevice

extension OptionDescription {
  static let historyFile = OptionDescription(
    name: "--history", value: "FILE", summary: "keep the history in this file")
  static let keepGoing = OptionDescription(
    name: "--keep-going", summary: "without a terminal: continue after a command that fails")
}

extension CommandDescription {
  static let shell = CommandDescription(
    name: "shell",
    summary: "run commands on one database without retyping its path",
    operands: [.database],
    options: [.historyFile, .keepGoing],
    discussion: [
      "Each line is a command as it would be typed outside, without `latewood` and without DATABASE. Words "
        + "are separated by spaces. Between single quotes every character stands for itself; between double "
        + "quotes \\\" is a quote and \\\\ a backslash; elsewhere a backslash makes the character after "
        + "it an ordinary one. A line that starts with # is a comment.",
      "At a terminal: left, right, home, end, ctrl-A and ctrl-E move; ctrl-K and ctrl-U delete to the end "
        + "and to the start, ctrl-W a word; up and down fetch earlier lines; tab completes commands, "
        + "options, keyspaces, collections and paths, and pressed twice lists the choices. ctrl-C "
        + "discards a line or stops a command; ctrl-D or exit leaves. Lines are remembered until then, or "
        + "longer with --history.",
      "If standard input is not a terminal, its lines are run without a prompt. The first command that fails "
        + "ends the shell with its exit code; with --keep-going the rest still run, and the exit code is that of the "
        + "first that failed.",
      "Each command opens the file anew, so the shell does not keep others from using it.",
    ],
    examples: [
      ExampleDescription(line: "latewood shell my.latewood", explanation: "A prompt appears."),
      ExampleDescription(
        line: "latewood shell my.latewood < commands.txt", explanation: "Runs the lines of a file."),
    ]
  ) { arguments, console in
    let path = try arguments.text(0)
    let history = try ShellHistory(path: arguments.text(of: .historyFile))
    let session = ShellSession(console, database: path, history: history)
    // A terminal without control sequences provides its own line editing, if any.
    let canEdit = console.isOutputTerminal && CurrentProcess.environmentVariable("TERM") != "dumb"
    guard console.input.isTerminal, canEdit else {
      return try session.follow(keepsGoing: arguments.has(.keepGoing) || console.input.isTerminal)
    }
    return try session.runInteractively()
  }
}
