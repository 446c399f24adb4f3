import LatewoodInspection

extension CommandDescription {
  static let bytesExplanation = [
    "Every byte is explained in the words of FORMAT.md, which describes the whole format.",
    "Long stretches of zeros, and long values, are drawn together; --json has each byte.",
    "The bytes of an encrypted file are shown as they are stored. Its operations and values are not explained, and its nodes only with the key.",
  ]

  static let bytesShape = [
    #"{"offset":BYTES,"length":BYTES,"fields":[{"offset":BYTES,"length":BYTES,"#,
    #"  "hex":"HEX","meaning":"TEXT","fault":true|false}, ...]}"#,
  ]

  static let hex = CommandDescription(
    name: "hex",
    summary: "explain the bytes from an offset on",
    operands: [.database, .offset],
    options: [.length],
    discussion: bytesExplanation + ["Without --length it shows 256 bytes; 1,048,576 is the most."],
    examples: [
      ExampleDescription(line: "latewood inspect hex my.latewood 0 --length 64", explanation: "The header."),
      ExampleDescription(
        line: "latewood inspect hex my.latewood 0x2000", explanation: "The first root slot."),
    ],
    json: bytesShape,
    isInspection: true
  ) { arguments, console in
    let length = try HexListing.length(arguments) ?? 256
    let offset = try arguments.offset(1)
    let file = try InspectedFile.opened(at: arguments.text(0), needsKey: false)
    defer { file.close() }
    try HexListing.check(offset, in: file)
    try HexListing(file, offset..<min(file.size, offset + length)).show(on: console)
    return .success
  }
}
