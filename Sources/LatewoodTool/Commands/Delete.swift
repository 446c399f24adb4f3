import LatewoodStore

extension CommandDescription {
  static let delete = CommandDescription(
    name: "delete",
    summary: "remove a key and its value",
    operands: [.database, .key],
    options: [.keyspace, .wait],
    discussion: [
      "When the command returns, the deletion survives a power cut. If the key does not exist, "
        + "nothing is written and the exit code is 1."
    ],
    examples: [
      ExampleDescription(line: "latewood delete my.latewood greeting", explanation: "Removes one entry.")
    ],
    json: [#"{"key":KEY,"keyspace":"NAME","deleted":true|false}"#]
  ) { arguments, console in
    let key = try arguments.key(1)
    let name = try Database.keyspaceName(arguments)
    let deleted = try Database.open(arguments, .openExisting).closing { database in
      try database.refusingDocuments(
        instead: "`latewood doc delete DATABASE ID` deletes a document.")
      let keyspace = try database.keyspace(arguments)
      guard try database.store.contains(key, in: keyspace) else { return false }
      try database.store.delete(key, in: keyspace)
      return true
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("key", data: key)
        writer.member("keyspace", name)
        writer.member("deleted", deleted)
      }
    } else if !deleted {
      try console.note("No entry has the key \(KeyText.shown(key)).")
    } else if console.isOutputTerminal {
      try console.line("Deleted \(DisplayWidth.fitted(KeyText.shown(key), to: console.width - 10)).")
    }
    return deleted ? .success : .no
  }
}
