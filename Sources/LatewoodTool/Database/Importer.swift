import LatewoodBytes
import LatewoodDevice
import LatewoodFleece
import LatewoodStore

/// One run of `import`: determines the form of the source, and turns its values into entries.
struct Importer {
  let source: ImportSource
  private let keyspaceName: String
  private let progress: Progress
  private var elements: JSONElements
  /// The records, if the source is CSV; `elements` is then not read.
  private var records: CSVRecords?
  private(set) var form = ImportForm.entries
  var shape: ImportRecord.Shape { form.shape }
  private(set) var keys = ImportKeys.place
  private(set) var content = DatabaseContent.documents
  private var isOfDocuments: Bool { content == .documents }
  /// Whether there is a value that was read last; false after the end.
  private var hasValue = true
  /// The value that was read last, if the source is CSV.
  private var record: [UInt8] = []
  /// The parts of a dump of CouchDB that have been left out.
  private var leftOut = ImportReport.LeftOut()

  init(from source: ImportSource, keyspaceName: String, progress: Progress) throws {
    self.source = source
    self.keyspaceName = keyspaceName
    self.progress = progress
    elements = JSONElements(try TextWindow { target in try source.read(into: target) })
  }

  /// Reads the first value and determines the form of the source.
  ///
  /// - Parameter known: whether documents or entries are made; nil to decide by the source.
  mutating func begin(_ arguments: Arguments, _ known: DatabaseContent?) throws {
    let wanted = try arguments.importForm(of: source)
    content = known ?? .documents
    if let wanted, wanted.needsDocuments, content == .entries {
      throw Failure.usage(
        "a source of the form \(wanted.rawValue) has documents, and this import makes entries",
        advice: "Leave out --entries, --keyspace and --key. A file of entries cannot have documents.")
    }
    let option = isOfDocuments ? OptionDescription.idField : .keyField
    let field = try arguments.text(of: option)
    let path = try arguments.text(of: .at).map { text in
      try ImportKeys.path(text, of: .at)
    }
    if wanted == .couchdb, field != nil {
      throw Failure.usage(
        "--id and --format couchdb do not go together", advice: "The documents bring their ids along.")
    }
    guard path == nil || wanted == nil || wanted == .array else {
      throw Failure.usage(
        "--at and --format \(wanted?.rawValue ?? "") do not go together", advice: "--at names an array.")
    }
    guard wanted != .entries || field == nil else {
      throw Failure.usage(
        "--key and --format entries do not go together", advice: "Entries bring their keys along.")
    }
    let named = try field.map { text in try ImportKeys(text, of: option) }
    do {
      if wanted == .csv {
        records = try csvRecords(CSVFormat.chosen(by: arguments, sourceName: source.name))
        form = .csv
        try readNext()
      } else if wanted == .couchdb {
        try beginRows()
      } else if let path {
        try elements.begin(at: path)
        try readNext()
        form = .array
      } else {
        let layout = try elements.begin(asSequence: wanted != nil && wanted != .array)
        try readNext()
        form = if let wanted { wanted } else { try seen(layout, hasKeys: named != nil, known) }
        if form == .entries { content = .entries }
        if wanted == nil, isOfDocuments, form == .document, CouchDBRow.isResponse(elements.element) {
          throw Failure.badInput(
            "this looks like CouchDB's response to _all_docs",
            advice: "--format couchdb imports the documents in it, --format document all of it as one.")
        }
        try check(layout)
      }
    } catch { throw explained(error, imported: 0) }
    if let named {
      keys = named
    } else if form == .couchdb {
      keys = .members([[Self.idMember]])
    } else if form == .document {
      keys = .fixed(Array(source.name.utf8))
    }
  }

  /// Imports all values.
  mutating func run(_ database: Database, _ arguments: Arguments) throws -> ImportReport {
    var writer = try makeWriter(database, arguments)
    var report = try run(into: &writer)
    report.place = keyspaceName
    if try DatabaseContent.chosen(by: arguments) == nil {
      let reason = form == .entries ? "SOURCE is the export of a keyspace" : "the database has entries"
      report.notes.insert("It is a keyspace of entries, because \(reason).", at: 0)
    }
    return report
  }

  mutating func run(into writer: inout some ImportTarget) throws -> ImportReport {
    do {
      while hasValue {
        if form == .csv {
          let record = record
          try record.withContents { record in try put(JSONSlice(record), into: &writer) }
        } else {
          try put(elements.element, into: &writer)
          elements.forgetElement()
        }
        try writer.settle()
        try putLines(into: &writer)
        try progress.update(source.position, of: source.length, unit: Quantity.bytes)
        try readNext()
      }
      try writer.finish()
    } catch { throw explained(error, imported: writer.added + writer.replaced) }
    try progress.finish()
    return ImportReport(
      content: content, form: form, values: count, added: writer.added, replaced: writer.replaced,
      kept: writer.kept,
      leftOut: leftOut, separator: records?.separator, notes: records?.notes ?? [])
  }

  private func csvRecords(_ format: CSVFormat) throws -> CSVRecords {
    let (source, progress) = (source, progress)
    if format.types == .infer { try source.prepareToRewind() }
    return try CSVRecords(format) {
      source.rewind()
      return try TextWindow { target in
        try progress.update(source.position, of: source.length, unit: Quantity.bytes)
        return try source.read(into: target)
      }
    }
  }

  private mutating func readNext() throws {
    hasValue =
      if form == .csv { try records?.next(into: &record) ?? false } else { try elements.next() }
  }

  /// The number of values that have been read.
  private var count: Int { records?.count ?? elements.count }
  /// The line of the last value.
  private var line: Int { records?.line ?? elements.line }

  private func failure(_ reason: String, advice: String) -> Failure {
    var failure = Failure.badInput(reason, advice: advice)
    failure.line = line
    return failure
  }

  private mutating func beginRows() throws {
    form = .couchdb
    try Failure.amending {
      try elements.begin(at: CouchDBRow.rows)
    } by: { failure in
      if failure.code != "invalidJSON" { failure.advice = CouchDBRow.advice }
    }
    try readNext()
  }

  /// Determines the form of the source from its layout, its first value and whether another
  /// follows.
  private mutating func seen(
    _ layout: JSONElements.Layout?, hasKeys: Bool, _ known: DatabaseContent?
  ) throws -> ImportForm {
    if layout == .array { return .array }
    // An empty source is the export of an empty keyspace.
    guard hasValue else { return isOfDocuments ? .lines : .entries }
    if !hasKeys, known != .documents, ExportedEntry(elements.element) != nil { return .entries }
    return try elements.isAtEnd() ? .document : .lines
  }

  private mutating func check(_ layout: JSONElements.Layout?) throws {
    if form == .array, layout != .array {
      throw elements.failure(
        "this is not an array", advice: "Leave out --format, or choose lines or document.")
    }
    if form == .document {
      guard hasValue else {
        throw elements.failure("the input has no JSON text", advice: "Check that SOURCE is what you meant.")
      }
      guard try elements.isAtEnd() else {
        throw elements.failure(
          "more follows after the first JSON text",
          advice: "Choose --format lines for one text after the other.")
      }
    }
  }

  private func makeWriter(_ database: Database, _ arguments: Arguments) throws -> ImportWriter {
    let existing =
      try arguments.text(of: .existing).flatMap(ImportWriter.Existing.init(rawValue:)) ?? .replace
    var record = ImportRecord(shape: shape, source: source.name, isComplete: false)
    var isEmpty = true
    if !arguments.has(.replace), let keyspace = try database.store.existingKeyspace(keyspaceName) {
      isEmpty = try database.store.count(in: keyspace) == 0
      let old = try ImportRecord.read(about: keyspace, in: database)
      // A keyspace that was filled in different forms can only be exported as entries.
      if !isEmpty, old?.shape != shape { record.shape = .entries }
    }
    if form != .entries, keys == .place, !isEmpty {
      throw Failure(
        .badInput, code: "keyspaceInUse", "the keyspace \(KeyText.shown(keyspaceName.utf8)) is not empty",
        advice:
          "Choose another with --keyspace, remove its content with --replace, or choose keys with --key.",
        path: database.path)
    }
    return ImportWriter(
      database.store, keyspaceName: keyspaceName, record: record, existing: existing,
      removesOld: arguments.has(.replace))
  }

  /// Throws if the process cannot get the memory for copies of a large value.
  private func checkMemory(for value: JSONSlice) throws {
    let length = value.bytes.count
    guard length >= 1 << 20, form == .entries || form == .couchdb || leavesOutID else { return }
    do throws(StorageError) { try MemoryRange.check(3 * length) } catch {
      throw TextWindow.tooLarge(length, needing: 3 * length, line: line)
    }
  }

  private mutating func put(_ value: JSONSlice, into writer: inout some ImportTarget) throws {
    try checkMemory(for: value)
    if form == .couchdb { return try putRow(value, into: &writer) }
    guard form == .entries else {
      let key: [UInt8]
      do { key = try keys.key(of: value, at: count - 1) } catch {
        throw failure(error.message, advice: error.advice)
      }
      guard leavesOutID, let members = value.members() else {
        return try writer.put(key, value.bytes, line: line)
      }
      let rest = JSONSlice.object(members.filter { $0.name.string() != Self.idMember })
      return try put(key, rest, into: &writer)
    }
    guard let entry = ExportedEntry(value) else {
      throw failure(
        "this is not of the form {\"key\":...,\"value\":...} that export writes",
        advice: "If the lines are data of your own, choose --format lines.")
    }
    try put(entry.key, entry.value, into: &writer)
  }

  private func put(
    _ key: [UInt8], _ value: [UInt8], into writer: inout some ImportTarget
  ) throws {
    try value.withContents { value in try writer.put(key, value, line: line) }
  }

  private static let idMember = Array("_id".utf8)

  /// Whether the ids of documents are taken from a member that documents cannot have, so that the
  /// member is omitted.
  private var leavesOutID: Bool { isOfDocuments && keys == .members([[Self.idMember]]) }

  /// Passes on the following values as long as each is on a separate line and the target parses it.
  /// Their text is then read only once. Leaves everything else to `readNext`.
  private mutating func putLines(into writer: inout some ImportTarget) throws {
    guard form == .lines, !leavesOutID else { return }
    let keys = keys
    while try elements.nextLine({ text, index, line in
      try writer.put(text: text, line: line) { keys.key(of: $0, at: index) }
    }) {
      try progress.update(source.position, of: source.length, unit: Quantity.bytes)
    }
  }

  private mutating func putRow(_ value: JSONSlice, into writer: inout some ImportTarget) throws {
    let row: CouchDBRow
    do { row = try CouchDBRow(value) } catch {
      throw failure(error.message, advice: error.advice)
    }
    guard let document = row.document else {
      leftOut.documents += 1
      return
    }
    if row.hasAttachments { leftOut.attachments += 1 }
    try put(row.id, document, into: &writer)
  }

  /// Adds the name of the source to a failure, and the number of values that were imported before
  /// it.
  private func explained(_ error: any Error, imported: Int) -> Failure {
    do { try progress.finish() } catch {}
    var failure = Failure(error)
    if failure.line != nil { failure.path = source.path }
    if imported > 0 {
      let count = Quantity.count(imported, "value", "values")
      failure.advice += " \(count) before it \(imported == 1 ? "is" : "are") in the database."
    }
    return failure
  }
}
