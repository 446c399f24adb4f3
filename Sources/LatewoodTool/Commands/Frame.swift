import LatewoodInspection

extension CommandDescription {
  static let frame = CommandDescription(
    name: "frame",
    summary: "explain each byte of one frame, of the header or of a root slot",
    operands: [.database, .offset],
    options: [.length],
    discussion: bytesExplanation + [
      "OFFSET is any place in it. Without --length it shows the first 4,096 bytes; 1,048,576 is the most."
    ],
    examples: [
      ExampleDescription(
        line: "latewood inspect frame my.latewood 16384",
        explanation: "The first frame of the file, if it is still there.")
    ],
    json: bytesShape,
    isInspection: true
  ) { arguments, console in
    let length = try HexListing.length(arguments) ?? 4096
    let offset = try arguments.offset(1)
    let file = try InspectedFile.opened(at: arguments.text(0), needsKey: false)
    defer { file.close() }
    try HexListing.check(offset, in: file)
    let whole = try Annotator(file).structure(at: offset)?.range(in: file.size) ?? offset..<offset + 1
    let shown = whole.lowerBound..<min(whole.upperBound, whole.lowerBound + length)
    try HexListing(file, shown).show(on: console)
    if shown.upperBound < whole.upperBound, !console.printsJSON {
      let rest = Quantity.bytes(whole.upperBound - shown.upperBound)
      try console.sentence("… \(rest) more: give --length, or `latewood inspect hex` with an offset.")
    }
    return .success
  }
}
