extension CommandDescription {
  static let help = CommandDescription(
    name: "help",
    summary: "explain the tool, or one command",
    operands: [OperandDescription(name: "COMMAND", summary: "the command to explain", isOptional: true)],
    examples: [
      ExampleDescription(line: "latewood help import", explanation: "How JSON gets into a database.")
    ]
  ) { arguments, console throws(Failure) in
    guard let name = arguments.operand(0) else {
      try console.output.write(HelpText.overview(of: CommandTable.commands, style: console.style))
      return .success
    }
    guard let command = CommandTable.command(named: String(decoding: name, as: UTF8.self)) else {
      throw CommandTable.unknown(name)
    }
    try console.output.write(HelpText.explanation(of: command, style: console.style))
    return .success
  }
}
