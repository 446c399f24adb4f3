import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

extension CommandDescription {
  static let expiry = CommandDescription(
    name: "expiry",
    summary: "list, set or clear when documents expire",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "list (the default), set or clear", isOptional: true),
      OperandDescription(name: "DATABASE", summary: "path of the database file", isOptional: true),
      OperandDescription(name: "ID", summary: "set, clear: the id of the document", isOptional: true),
      OperandDescription(
        name: "TIME", summary: "set: 2026-03-01T09:30:00Z, +90s, +15m, +12h, +7d, or seconds since 1970",
        isOptional: true),
    ],
    options: [.documentCollection, .limit, .wait],
    discussion: [
      "A document that expires is purged: removed as if it had never existed. This happens on time while an "
        + "app has the database open for writing; otherwise it happens when the database is next opened for "
        + "writing, also by this tool. list shows the next one first; times are in UTC.",
      "set replaces the document's time. A time that has passed means the next opportunity.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood expiry films.latewood --limit 10", explanation: "What goes next."),
      ExampleDescription(
        line: "latewood expiry set films.latewood alien +7d", explanation: "Forget it in a week."),
      ExampleDescription(line: "latewood expiry clear films.latewood alien", explanation: "Keep it."),
    ],
    json: [
      #"list: {"collection":"NAME","expiring":[{"id":"ID","seconds":NUMBER,"#,
      #"  "time":"2026-03-01T09:30:00Z"}, ...]}"#,
      #"set, clear: {"id":"ID","collection":"NAME","seconds":NUMBER or null,"#,
      #"  "time":"2026-03-01T09:30:00Z" or null}"#,
    ]
  ) { arguments, console in
    let words = try ActionArguments(
      arguments, of: "expiry",
      [
        .init(name: "list", operands: ["DATABASE"], options: [.limit]),
        .init(name: "set", operands: ["DATABASE", "ID", "TIME"], options: [.wait]),
        .init(name: "clear", operands: ["DATABASE", "ID"], options: [.wait]),
      ], usual: "list")
    guard words.action != "list" else {
      let limit = Int(clamping: try arguments.number(of: .limit) ?? .max)
      try DocumentDatabase.open(path: try words.text(0), .readOnly).closing { database in
        try list(arguments, database, limit: limit, on: console)
      }
      return .success
    }
    let id = try words.documentID(1)
    let now = Environment.system.now() / 1_000_000
    let time = words.action == "set" ? try Timestamp.seconds(words.text(2), now: now) : nil
    let database = try DocumentDatabase.open(
      path: try words.text(0), .openExisting, waiting: arguments.lockTimeout())
    try database.closing { database in
      let collection = try database.collection(arguments)
      try database.store.write { writer in try writer.setExpiry(of: id, in: collection, time) }
      if console.printsJSON {
        try console.object { writer in
          writer.member("id", id)
          writer.member("collection", collection.name)
          write(time, to: &writer)
        }
      } else if let time {
        try console.line(line(id, time, in: console.width))
      }
    }
    return .success
  }

  private static func list(
    _ arguments: Arguments, _ database: DocumentDatabase, limit: Int, on console: Console
  ) throws {
    let collection = try database.collection(arguments)
    let due = try database.store.reads(collection).expiring(before: .max, limit: limit)
    guard console.printsJSON else {
      if due.isEmpty, limit > 0 {
        try console.noteEmpty("No document of the collection \(collection.name) expires.")
      }
      for entry in due { try console.line(line(entry.id, entry.seconds, in: console.width)) }
      return
    }
    try console.object { writer in
      writer.member("collection", collection.name)
      writer.list("expiring", due) { writer, entry in
        writer.member("id", entry.id)
        write(entry.seconds, to: &writer)
      }
    }
  }

  private static func line(_ id: String, _ time: UInt64, in width: Int) -> String {
    DisplayWidth.fitted("\(Timestamp.shown(seconds: time))  \(KeyText.shown(id.utf8))", to: width)
  }

  private static func write(_ time: UInt64?, to writer: inout JSONOutput) {
    writer.optional("seconds", time)
    writer.optional("time", text: time.map { Timestamp.exact(seconds: $0) })
  }
}
