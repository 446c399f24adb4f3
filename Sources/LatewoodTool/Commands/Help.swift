extension OptionDescription {
  static let manual = OptionDescription(name: "--man", summary: "print the manual page instead, for man")
}

extension CommandDescription {
  static let help = CommandDescription(
    name: "help",
    summary: "explain the tool, or one command",
    operands: [
      OperandDescription(name: "COMMAND", summary: "the command to explain", isOptional: true),
      OperandDescription(name: "ACTION", summary: "inspect: one of its parts", isOptional: true),
    ],
    options: [.manual],
    examples: [
      ExampleDescription(line: "latewood help import", explanation: "How to read JSON into a database."),
      ExampleDescription(line: "latewood help inspect map", explanation: "A part of inspect."),
      ExampleDescription(
        line: "latewood help --man > latewood.1 && man -l latewood.1",
        explanation: "All of it as a manual page."),
    ]
  ) { arguments, console in
    if arguments.has(.manual) {
      guard arguments.operands.isEmpty else {
        throw Failure.usage("--man is about all commands", advice: "Leave out COMMAND.")
      }
      try console.output.write(
        ManualPage(of: CommandTable.commands, version: LatewoodCommand.version).text)
      return .success
    }
    let words = CommandTable.withoutInspect(arguments.operands) { String(decoding: $0, as: UTF8.self) }
    guard words.count < 2 else {
      throw Failure.usage(
        "`latewood help` explains one command at a time",
        advice: "Write `latewood help \(String(decoding: words[0], as: UTF8.self))`.")
    }
    guard let name = words.first else {
      try console.output.write(
        HelpText.overview(of: CommandTable.groups, style: console.style, width: console.proseWidth))
      return .success
    }
    guard let command = CommandTable.command(named: String(decoding: name, as: UTF8.self)) else {
      throw CommandTable.unknown(name)
    }
    try console.output.write(
      HelpText.explanation(of: command, style: console.style, width: console.proseWidth))
    return .success
  }
}
