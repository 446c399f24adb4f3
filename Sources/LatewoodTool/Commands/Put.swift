import LatewoodStore

extension CommandDescription {
  static let put = CommandDescription(
    name: "put",
    summary: "set the value of a key",
    operands: [
      .database, .key,
      OperandDescription(
        name: "VALUE", summary: "text, or bytes in hexadecimal after 0x; - reads standard input"),
    ],
    options: [.keyspace, .wait],
    discussion: [
      "Creates the database and the keyspace if they do not exist, and replaces the value if the key "
        + "has one. When the command returns, the entry survives a power cut.",
      "Standard input is stored byte for byte, its last line break too.",
    ],
    examples: [
      ExampleDescription(line: "latewood put my.latewood greeting \"hello\"", explanation: "One entry."),
      ExampleDescription(
        line: "latewood put my.latewood logo.png - --keyspace blobs < logo.png",
        explanation: "A file as a value."),
    ],
    json: [#"{"key":KEY,"keyspace":"NAME","replaced":true|false,"transaction":NUMBER}"#]
  ) { arguments, console in
    let key = try arguments.key(1)
    let value =
      arguments.operand(2) == [UInt8(ascii: "-")] ? try standardInput(of: console) : try arguments.bytes(2)
    let name = try Database.keyspaceName(arguments)
    let (replaced, transaction) = try Database.open(arguments, .openOrCreate).closing { database in
      try database.refusingDocuments(
        instead: "`latewood doc put DATABASE ID JSON` saves a document.")
      let replaced = try database.store.write { transaction in
        let keyspace = try transaction.keyspace(name)
        let replaced = try transaction.contains(key, in: keyspace)
        try transaction.put(key, value, in: keyspace)
        return replaced
      }
      return (replaced, try database.store.snapshot().transaction)
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("key", data: key)
        writer.member("keyspace", name)
        writer.member("replaced", replaced)
        writer.member("transaction", transaction)
      }
    } else if console.isOutputTerminal {
      try console.line(
        "\(replaced ? "Replaced" : "Added") \(DisplayWidth.fitted(KeyText.shown(key), to: console.width - 10))."
      )
    }
    return .success
  }

  private static func standardInput(of console: Console) throws -> [UInt8] {
    try console.input.readAll()
  }
}
