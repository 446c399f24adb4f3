import LatewoodStore

extension CommandDescription {
  static let get = CommandDescription(
    name: "get",
    summary: "print the value of a key",
    operands: [.database, .key],
    options: [.keyspace, .asOf],
    discussion: [
      "Prints the bytes of the value and nothing else, so that it can go into a file or a pipe. On a "
        + "terminal a line break follows, and a value that is not readable text is shown in hexadecimal.",
      "If the key does not exist, nothing is printed and the exit code is 1.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood get my.latewood greeting", explanation: "The value of \"greeting\"."),
      ExampleDescription(
        line: "latewood get my.latewood 0x0001ff --keyspace blobs > blob",
        explanation: "The value of a key of three bytes, into a file."),
    ],
    json: [
      #"{"key":KEY,"value":VALUE}"#,
      #"{"key":KEY,"value":null} if there is none"#,
      #"KEY and VALUE: "text", or {"base64":"..."} if the bytes are not UTF-8"#,
    ]
  ) { arguments, console in
    let key = try arguments.key(1)
    let value = try Database.reading(arguments).closing { database in
      let keyspace = try database.keyspace(arguments)
      let snapshot = try database.snapshot(arguments)
      return try snapshot.get(key, in: keyspace)
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("key", data: key)
        writer.key("value")
        if let value { writer.bytes(value) } else { writer.null() }
      }
    } else if let value {
      try print(value, on: console)
    } else {
      try console.note("No entry has the key \(KeyText.shown(key)).")
    }
    return value == nil ? .no : .success
  }

  private static func print(_ value: [UInt8], on console: Console) throws {
    guard console.isOutputTerminal else { return try console.output.write(value) }
    // Line breaks and tabs are harmless on a terminal; other control characters may not be.
    let visible = value.filter { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\t") }
    if visible.isEmpty || KeyText.readableText(visible) != nil {
      try console.output.write(value)
      if value.last != UInt8(ascii: "\n") { try console.output.write("\n") }
    } else {
      try console.line(KeyText.hexMark + Hex.encode(value))
    }
  }
}
