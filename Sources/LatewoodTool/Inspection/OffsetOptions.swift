extension OperandDescription {
  static let offset = OperandDescription(
    name: "OFFSET", summary: "a place in the file in bytes, as 16384 or 0x4000")
}

extension OptionDescription {
  static let node = OptionDescription(
    name: "--node", value: "OFFSET", summary: "show the node that starts here, in full")
  static let fromOffset = OptionDescription(
    name: "--from", value: "OFFSET", summary: "start with the frame that holds this byte")
  static let seconds = OptionDescription(
    name: "--seconds", value: "NUMBER", summary: "with --follow: stop after this time")
  static let length = OptionDescription(
    name: "--length", value: "NUMBER", summary: "the number of bytes to explain")
}
