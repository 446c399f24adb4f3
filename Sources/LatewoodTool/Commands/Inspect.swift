import LatewoodBytes

extension CommandDescription {
  static let inspect = CommandDescription(
    name: "inspect",
    summary: "show how the file is built: tree, frames, frame, hex or map",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "tree, frames, frame, hex or map",
        choices: CommandTable.inspections.map(\.name)),
      .database,
      OperandDescription(
        name: "OFFSET", summary: "frame, hex: a place in the file, decimal or after 0x", isOptional: true),
    ],
    discussion: CommandTable.inspections.map { "\($0.name): \($0.summary)." } + [
      "`latewood help map`, for example, explains the map. The old names still work: `map` alone means "
        + "`inspect map`.",
      "They read the file with the codecs of its format, not as a database, so they also work on a "
        + "damaged file, and while another program writes to the file.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood inspect map my.latewood", explanation: "The kind of each block, as a letter."),
      ExampleDescription(
        line: "latewood inspect hex my.latewood 0 --length 64", explanation: "The header, byte by byte."),
    ]
  ) { arguments, _ in
    // The table has found no command of this name.
    let action = arguments.operand(0) ?? []
    let names = CommandTable.inspections.map(\.name)
    throw Failure.usage(
      "`latewood inspect` has no part \(Arguments.quoted(action))",
      advice: Suggestion.advice(
        for: String(decoding: action, as: UTF8.self), among: names,
        otherwise: "Write `latewood inspect ACTION DATABASE`, with one of: \(names.joined(separator: ", ")).")
    )
  }
}
