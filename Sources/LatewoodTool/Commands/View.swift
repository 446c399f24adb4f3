import LatewoodDocuments
import LatewoodFleece

extension CommandDescription {
  static let view = CommandDescription(
    name: "view",
    summary: "list the views of a collection, show their rows and failures, or drop one",
    operands: [
      OperandDescription(
        name: "ACTION", summary: "list (the default), rows, failures or drop",
        isOptional: true),
      OperandDescription(name: "DATABASE", summary: "path of the database file", isOptional: true),
      OperandDescription(
        name: "NAME", summary: "rows, failures, drop: the name of the view", isOptional: true,
        kinds: ["rows": .view, "failures": .view, "drop": .view]),
    ],
    options: [.documentCollection, .limit, .skip, .wait],
    discussion: [
      "A view has rows that a program emits for each document, sorted by their keys. Its map is in the "
        + "program; the file has its version and the rows. A view that is behind lacks the changes of programs "
        + "that do not know it, such as this tool, until its own program opens it next.",
      "failures shows the documents that have no rows because the map failed, and why.",
    ],
    examples: [
      ExampleDescription(line: "latewood view films.latewood", explanation: "All views of the collection."),
      ExampleDescription(
        line: "latewood view rows films.latewood 'by tag' --limit 10", explanation: "The first rows of one."),
    ],
    json: [
      #"list: {"collection":"NAME","views":[{"name":"NAME","version":NUMBER,"#,
      #"  "reduction":"KIND","rows":NUMBER,"failures":NUMBER,"behind":NUMBER}, ...]}"#,
      #"rows: {"collection":"NAME","name":"NAME","#,
      #"  "rows":[{"id":"ID","key":JSON,"value":JSON}, ...]}"#,
      #"failures: {"collection":"NAME","name":"NAME","#,
      #"  "failures":[{"id":"ID","reason":"TEXT"}, ...]}"#,
      #"drop: {"collection":"NAME","name":"NAME"}"#,
    ]
  ) { arguments, console in
    let words = try ActionArguments(
      arguments, of: "view",
      [
        .init(name: "list", operands: ["DATABASE"]),
        .init(name: "rows", operands: ["DATABASE", "NAME"], options: [.limit, .skip]),
        .init(name: "failures", operands: ["DATABASE", "NAME"], options: [.limit]),
        .init(name: "drop", operands: ["DATABASE", "NAME"], options: [.wait]),
      ], usual: "list")
    let path = try words.text(0)
    if words.action == "list" {
      try DocumentDatabase.open(path: path, .readOnly).closing { database in
        try ViewListing.show(try database.collection(arguments), of: database, on: console)
      }
      return .success
    }
    let name = try words.text(1)
    if words.action == "drop" {
      try ViewListing.drop(name, path, arguments, on: console)
      return .success
    }
    let limit = Int(clamping: try arguments.number(of: .limit) ?? .max)
    let skip = words.action == "rows" ? Int(clamping: try arguments.number(of: .skip) ?? 0) : 0
    try DocumentDatabase.open(path: path, .readOnly).closing { database in
      let collection = try database.collection(arguments)
      let reads = try database.reads(collection)
      let stored = try reads.stored(view: name)
      guard let stored else { throw ViewListing.missing(name, database.path) }
      if words.action == "rows" {
        try ViewListing.showRows(of: stored, name, collection, skip: skip, limit: limit, on: console)
      } else {
        try ViewListing.showFailures(of: stored, name, collection, limit: limit, on: console)
      }
    }
    return .success
  }
}

/// Prints the views, rows and failures in the file.
private enum ViewListing {
  static func missing(_ name: String, _ path: String) -> Failure {
    Failure(
      .no, code: "noSuchView", "no view is named \(KeyText.shown(name.utf8))",
      advice: "`latewood view` lists the views of the collection.", path: path)
  }

  static func show(
    _ collection: CollectionHandle, of database: DocumentDatabase, on console: Console
  ) throws {
    let reads = try database.reads(collection)
    let views = try reads.viewList()
    guard console.printsJSON else {
      if views.isEmpty {
        try console.noteEmpty("The collection \(collection.name) has no views; a program makes them.")
      }
      for view in views { try console.line(line(view, in: console.width)) }
      return
    }
    try console.object { writer in
      writer.member("collection", collection.name)
      writer.list("views", views) { writer, view in
        writer.member("name", view.name)
        writer.member("version", view.version)
        writer.member("reduction", "\(view.reduction)")
        writer.member("rows", view.rows)
        writer.member("failures", view.failures)
        writer.member("behind", view.behind)
      }
    }
  }

  private static func line(_ view: ViewInfo, in width: Int) -> String {
    var parts = [KeyText.shown(view.name.utf8), "version \(view.version)"]
    if view.reduction != .none { parts.append("\(view.reduction)") }
    parts.append("\(view.rows) rows")
    if view.failures > 0 { parts.append("\(view.failures) failures") }
    if view.behind > 0 { parts.append("behind by \(view.behind)") }
    return DisplayWidth.fitted(parts.joined(separator: "  "), to: width)
  }

  static func drop(
    _ name: String, _ path: String, _ arguments: Arguments, on console: Console
  ) throws {
    try DocumentDatabase.open(
      path: path, .openExisting, waiting: arguments.lockTimeout()
    ).closing { database in
      let collection = try database.collection(arguments)
      let isDone = try database.store.dropView(name, of: collection)
      guard isDone else { throw missing(name, database.path) }
      guard console.printsJSON else { return }
      try console.object { writer in
        writer.member("collection", collection.name)
        writer.member("name", name)
      }
    }
  }

  /// A row to print; key and value are JSON.
  private struct Row {
    let id: String
    let key: [UInt8]
    let value: [UInt8]
  }

  static func showRows(
    of view: ViewReads, _ name: String, _ collection: CollectionHandle, skip: Int, limit: Int,
    on console: Console
  ) throws {
    var rows: [Row] = []
    try view.forEachRow(skip: skip) { row in
      guard rows.count < limit else { return false }
      let value = row.copiedValue
      rows.append(
        Row(
          id: row.id, key: try JSON.text(of: row.emittedKey()),
          value: value.isEmpty ? Array("null".utf8) : try JSON.text(of: value)))
      return true
    }
    guard console.printsJSON else {
      if rows.isEmpty { try console.noteEmpty("The view \(KeyText.shown(name.utf8)) has no rows here.") }
      for row in rows {
        let parts = [row.key, row.value].map { String(decoding: $0, as: UTF8.self) }
        try console.line(
          DisplayWidth.fitted("\(parts[0])  \(KeyText.shown(row.id.utf8))  \(parts[1])", to: console.width))
      }
      return
    }
    try console.object { writer in
      writer.member("collection", collection.name)
      writer.member("name", name)
      writer.list("rows", rows) { writer, row in
        writer.member("id", row.id)
        writer.key("key")
        writer.raw(row.key)
        writer.key("value")
        writer.raw(row.value)
      }
    }
  }

  static func showFailures(
    of view: ViewReads, _ name: String, _ collection: CollectionHandle, limit: Int, on console: Console
  ) throws {
    let failures = try view.failures(limit: limit)
    guard console.printsJSON else {
      if failures.isEmpty {
        try console.noteEmpty("No document has failed in the view \(KeyText.shown(name.utf8)).")
      }
      for failure in failures {
        try console.line(
          DisplayWidth.fitted("\(KeyText.shown(failure.id.utf8))  \(failure.reason)", to: console.width))
      }
      return
    }
    try console.object { writer in
      writer.member("collection", collection.name)
      writer.member("name", name)
      writer.list("failures", failures) { writer, failure in
        writer.member("id", failure.id)
        writer.member("reason", failure.reason)
      }
    }
  }
}
