import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

extension OptionDescription {
  static let exportFormat = OptionDescription(
    name: "--format", value: "FORM", summary: "the form to write; by default, the form of the import",
    choices: ImportRecord.Shape.allCases.map(\.rawValue))
}

extension CommandDescription {
  static let exporting = CommandDescription(
    name: "export",
    summary: "write a collection or a keyspace as JSON",
    operands: [
      .database,
      OperandDescription(
        name: "TARGET", summary: "path of a new file; standard output if - or left out",
        isOptional: true),
    ],
    options: [.exportFormat, .documents, .collection, .entries, .keyspace, .asOf],
    discussion: [
      "A keyspace that was filled by import comes out as the JSON that went in: an array as an array, "
        + "lines as lines, a document as itself. Everything else comes out as entries, one line for each: "
        + "{\"key\":KEY,\"value\":VALUE}, where KEY and VALUE are a string, or {\"base64\":\"...\"} if the "
        + "bytes are not UTF-8. import reads all of these.",
      "The forms array, lines and document need values that are JSON; entries never fails. A target is "
        + "written under another name first and renamed when it is complete.",
      "From a file of documents, the documents of a collection are written, ordered by id: in the form of the import, or else "
        + "as lines. Ids are not part of the text; deleted documents and losing revisions are left out.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood export films.latewood films.json", explanation: "Into a new file."),
      ExampleDescription(
        line: "latewood export my.latewood | gzip > my.json.gz", explanation: "Into a pipe."),
      ExampleDescription(
        line: "latewood export a.latewood --format entries | latewood import b.latewood -",
        explanation: "From one database into another."),
    ],
    json: [
      #"{"keyspace":"NAME" (of documents "collection"),"#,
      #"  "format":"array|lines|document|entries","values":NUMBER,"#,
      #"  "bytes":BYTES,"nanoseconds":NUMBER}"#,
      #"on standard output, or on standard error if the export itself goes there"#,
    ]
  ) { arguments, console in
    let start = MonotonicClock.nanoseconds
    let path = arguments.operand(1) == nil ? "-" : try arguments.text(1)
    let content =
      try DatabaseContent.chosen(by: arguments) ?? DatabaseContent.found(at: arguments.text(0)) ?? .entries
    let place = content == .documents ? "collection" : "keyspace"
    let isChosen = try content != .documents || DocumentDatabase.collectionName(arguments) != nil
    let (name, exporter) =
      try content == .documents
      ? exportDocuments(arguments, to: path, console) : exportEntries(arguments, to: path, console)
    let nanoseconds = MonotonicClock.nanoseconds &- start
    if console.printsJSON {
      var writer = JSONOutput()
      exporter.write(to: &writer, place, name, nanoseconds: nanoseconds)
      writer.lineBreak()
      try (path == "-" ? console.error : console.output).write(writer.take())
    } else if path != "-" {
      // The collection that no option has chosen is named.
      let shown = DisplayWidth.fitted(KeyText.shown(name.utf8), to: 30)
      let source = isChosen ? "" : " of the collection \(shown)"
      try console.sentence(
        "Exported \(Quantity.count(exporter.count, "value", "values")) (\(exporter.shape.rawValue))\(source), "
          + "\(Quantity.bytes(exporter.length)), in \(Quantity.duration(nanoseconds: nanoseconds)).")
    }
    return .success
  }

  private static func exportEntries(
    _ arguments: Arguments, to path: String, _ console: Console
  ) throws -> (String, Exporter) {
    try Database.reading(arguments).closing { database in
      let keyspace = try database.keyspace(arguments)
      let snapshot = try database.snapshot(arguments)
      let total = try snapshot.count(in: keyspace)
      let record = try ImportRecord.read(about: keyspace, in: database)
      let exporter = try run(arguments, record, .entries, total, to: path, console) { take in
        try snapshot.forEach(in: keyspace) { key, value in
          try take(key.bytes(), value.bytes())
          return true
        }
      }
      return (keyspace.name, exporter)
    }
  }

  private static func exportDocuments(
    _ arguments: Arguments, to path: String, _ console: Console
  ) throws -> (String, Exporter) {
    try DocumentDatabase.reading(arguments).closing { database in
      let collection = try database.collection(arguments)
      let reads = try database.store.snapshot().reads(collection)
      let total = try reads.count()
      if total == 0, try DocumentDatabase.collectionName(arguments) == nil {
        try refuseAmbiguity(database, exporting: collection.name)
      }
      let record = try ImportRecord.read(reads)
      let exporter = try run(arguments, record, .lines, total, to: path, console) { take in
        try reads.forEachWholeDocument { id, _, body in
          guard let body else {
            throw Failure(.damaged, code: "damaged", "the body of the document \(id) is missing")
          }
          try take(Array(id.utf8), try JSON.text(of: body))
          return true
        }
      }
      return (collection.name, exporter)
    }
  }

  /// Throws if other collections than the empty one that would be exported have documents.
  private static func refuseAmbiguity(_ database: DocumentDatabase, exporting empty: String) throws {
    let others = try database.store.snapshot().collectionNames().filter { name in
      guard name != empty, let collection = try database.store.collection(name) else { return false }
      return try database.reads(collection).count() > 0
    }
    guard !others.isEmpty else { return }
    let shown = others.prefix(8).map { KeyText.shown($0.utf8) }.joined(separator: ", ")
    let more = others.count > 8 ? " and \(others.count - 8) more" : ""
    throw Failure.usage(
      "the collection \(empty) is empty, and others have documents",
      advice: "Choose one with --collection: \(shown)\(more).")
  }

  private static func run(
    _ arguments: Arguments, _ record: ImportRecord?, _ fallback: ImportRecord.Shape, _ total: Int,
    to path: String, _ console: Console,
    entries: (_ take: ([UInt8], [UInt8]) throws -> Void) throws -> Void
  ) throws -> Exporter {
    if let record, !record.isComplete {
      try console.note(
        "The import of \(KeyText.shown(record.source.utf8)) was interrupted; this is a first part of it.")
    }
    let wanted = try arguments.text(of: .exportFormat).flatMap(ImportRecord.Shape.init(rawValue:))
    return try ExportTarget.write(to: path, on: console) { output in
      var exporter = Exporter(to: output, progress: Progress("Exporting", on: console))
      try exporter.run(
        wanted: wanted, record: record, fallback: fallback, total: UInt64(total), entries: entries)
      return exporter
    }
  }
}
