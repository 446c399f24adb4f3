import LatewoodFleece

/// A step of the demo and its outcome.
struct DemoStep: Equatable {
  var name: String
  var isKept: Bool
  var text: String
  var nanoseconds: UInt64

  func print(on console: Console) throws {
    let mark = isKept ? console.style.good("ok   ") : console.style.bad("FAIL ")
    let time = Quantity.duration(nanoseconds: nanoseconds)
    let lines = HelpText.paragraph("\(text) (\(time))", indent: 5).dropFirst(5)
    try console.output.write(mark + lines)
    try console.flush()
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("step", name)
    writer.member("kept", isKept)
    writer.member("text", text)
    writer.member("nanoseconds", nanoseconds)
    writer.endDictionary()
  }
}
