import LatewoodDevice

extension CommandDescription {
  static let completion = CommandDescription(
    name: "completion",
    summary: "print a script that completes command lines",
    operands: [
      OperandDescription(
        name: "SHELL", summary: "bash, zsh or fish", choices: CompletionScript.allCases.map(\.rawValue))
    ],
    discussion: [
      "With it, tab completes commands, options and their choices, paths and, once the line names a database, "
        + "its keyspaces, collections, indexes and views, and the first hundred keys, or ids of documents, that "
        + "begin with the typed text. bash must be 4.4 or newer."
    ],
    examples: [
      ExampleDescription(
        line: "latewood completion bash > ~/.local/share/bash-completion/completions/latewood",
        explanation: "For every new bash of this user, if it has bash-completion."),
      ExampleDescription(
        line: "latewood completion fish > ~/.config/fish/completions/latewood.fish",
        explanation: "For every new fish."),
    ]
  ) { arguments, console in
    let name = try arguments.text(0)
    guard let script = CompletionScript(rawValue: name) else {
      throw Failure.usage(
        "no completion script exists for \(Arguments.quoted(Array(name.utf8)))",
        advice: "Choose one of: \(CompletionScript.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    try console.output.write(script.text)
    return .success
  }

  /// The command that completion scripts run. The first line of output is `files` if the script
  /// should also offer file names, else `words`; then each word, a tab, and its meaning.
  static let complete = CommandDescription(
    name: "complete",
    summary: "print what could stand at the end of a command line",
    operands: [OperandDescription(name: "LINE", summary: "with `latewood` at its start, up to the cursor")],
    isHidden: true
  ) { arguments, console in
    let parsed = ShellWords(partial: String(decoding: arguments.operand(0) ?? [], as: UTF8.self))
    let names = Completion.Names.fromFile.at { expanded($0) }
    let completion = Completion.of(
      Array(parsed.words.dropFirst()), partial: parsed.last ?? "", names: names)
    try console.line(completion.filesBehind == nil ? "words" : "files")
    for candidate in completion.candidates where !candidate.text.contains(where: \.isNewline) {
      try console.line("\(candidate.text)\t\(candidate.summary)")
    }
    return .success
  }

  /// Expands a tilde, as the shell would before it runs the command.
  private static func expanded(_ path: String) -> String {
    guard path.hasPrefix("~/"), let home = CurrentProcess.environmentVariable("HOME") else { return path }
    return home + path.dropFirst()
  }
}
