import LatewoodStore

/// One run of `import`: determines the form of the source, and turns its values into entries.
struct Importer {
  let source: ImportSource
  private let keyspaceName: String
  private let progress: Progress
  private var elements: JSONElements
  private(set) var shape = ImportRecord.Shape.entries
  private(set) var keys = ImportKeys.place
  private var isOfDocuments = false
  /// The value that was read last; nil after the end.
  private var value: [UInt8]? = []

  init(from source: ImportSource, keyspaceName: String, progress: Progress) {
    self.source = source
    self.keyspaceName = keyspaceName
    self.progress = progress
    elements = JSONElements(JSONInput { target throws(Failure) in try source.read(into: target) })
  }

  /// Reads the first value and determines the form of the source.
  mutating func begin(_ arguments: Arguments) throws(Failure) {
    let wanted = try arguments.text(of: .importFormat).flatMap(ImportRecord.Shape.init(rawValue:))
    isOfDocuments = arguments.has(.documents)
    let option = isOfDocuments ? OptionDescription.idField : .keyField
    let field = try arguments.text(of: option)
    let path = try arguments.text(of: .at).map { (text) throws(Failure) in
      try ImportKeys.path(text, of: .at)
    }
    guard path == nil || wanted == nil || wanted == .array else {
      throw .usage(
        "--at and --format \(wanted?.rawValue ?? "") do not go together", advice: "--at names an array.")
    }
    guard wanted != .entries || field == nil else {
      throw .usage("--key and --format entries do not go together", advice: "Entries bring their keys along.")
    }
    let named = try field.map { (text) throws(Failure) in try ImportKeys(text, of: option) }
    do throws(Failure) {
      if let path {
        try elements.begin(at: path)
        try readNext()
        shape = .array
      } else {
        let layout = try elements.begin(asSequence: wanted != nil && wanted != .array)
        try readNext()
        shape = if let wanted { wanted } else { try seen(layout, first: value, hasKeys: named != nil) }
        try check(layout)
      }
    } catch { throw explained(error, imported: 0) }
    if let named {
      keys = named
    } else if shape == .document {
      keys = .fixed(Array(source.name.utf8))
    }
  }

  /// Imports all values.
  mutating func run(_ database: Database, _ arguments: Arguments) throws(Failure) -> ImportReport {
    var writer = try makeWriter(database, arguments)
    return try run(into: &writer)
  }

  mutating func run(into writer: inout some ImportTarget) throws(Failure) -> ImportReport {
    do throws(Failure) {
      while let value {
        try put(value, into: &writer)
        try progress.update(source.position, of: source.length, unit: Quantity.bytes)
        try readNext()
      }
      try writer.finish()
    } catch { throw explained(error, imported: writer.added + writer.replaced) }
    try progress.finish()
    return ImportReport(
      shape: shape, values: elements.count, added: writer.added, replaced: writer.replaced, kept: writer.kept)
  }

  private mutating func readNext() throws(Failure) {
    var next: [UInt8] = []
    value = try elements.next(into: &next) ? next : nil
  }

  /// Determines the form of the source from its layout, its first value and whether another
  /// follows.
  private mutating func seen(
    _ layout: JSONElements.Layout?, first: [UInt8]?, hasKeys: Bool
  ) throws(Failure) -> ImportRecord.Shape {
    if layout == .array { return .array }
    // An empty source is the export of an empty keyspace.
    guard let first else { return isOfDocuments ? .lines : .entries }
    if !hasKeys, !isOfDocuments, ExportedEntry(first) != nil { return .entries }
    return try elements.isAtEnd() ? .document : .lines
  }

  private mutating func check(_ layout: JSONElements.Layout?) throws(Failure) {
    if shape == .array, layout != .array {
      throw elements.failure(
        "this is not an array", advice: "Leave --format away, or choose lines or document.")
    }
    if shape == .document {
      guard value != nil else {
        throw elements.failure("there is no JSON text here", advice: "Check that SOURCE is what you meant.")
      }
      guard try elements.isAtEnd() else {
        throw elements.failure(
          "more follows after the first JSON text",
          advice: "Choose --format lines for one text after the other.")
      }
    }
  }

  private func makeWriter(_ database: Database, _ arguments: Arguments) throws(Failure) -> ImportWriter {
    let existing =
      try arguments.text(of: .existing).flatMap(ImportWriter.Existing.init(rawValue:)) ?? .replace
    var record = ImportRecord(shape: shape, source: source.name, isComplete: false)
    var isEmpty = true
    do {
      if !arguments.has(.replace), let keyspace = try database.store.existingKeyspace(keyspaceName) {
        isEmpty = try database.store.count(in: keyspace) == 0
        let old = try ImportRecord.read(about: keyspace, in: database)
        // A keyspace that was filled in different forms can only be exported as entries.
        if !isEmpty, old?.shape != shape { record.shape = .entries }
      }
    } catch { throw Failure(error) }
    if shape != .entries, keys == .place, !isEmpty {
      throw Failure(
        .badInput, code: "keyspaceInUse", "the keyspace \(KeyText.shown(keyspaceName.utf8)) is not empty",
        advice:
          "Choose another with --keyspace, remove what it holds with --replace, or choose keys with --key.",
        path: database.path)
    }
    return ImportWriter(
      database.store, keyspaceName: keyspaceName, record: record, existing: existing,
      removesOld: arguments.has(.replace))
  }

  private func put(_ value: [UInt8], into writer: inout some ImportTarget) throws(Failure) {
    let line = elements.line
    guard shape == .entries else {
      let key: [UInt8]
      do throws(Failure) { key = try keys.key(of: value, at: elements.count - 1) } catch {
        throw elements.failure(error.message, advice: error.advice)
      }
      return try writer.put(key, value, line: line)
    }
    guard let entry = ExportedEntry(value) else {
      throw elements.failure(
        "this is not of the form {\"key\":...,\"value\":...} that export writes",
        advice: "If the lines are data of your own, choose --format lines.")
    }
    try writer.put(entry.key, entry.value, line: line)
  }

  /// Adds the name of the source to a failure, and the number of values that were imported before
  /// it.
  private func explained(_ failure: Failure, imported: Int) -> Failure {
    do throws(Failure) { try progress.finish() } catch {}
    var failure = failure
    if failure.line != nil { failure.path = source.path }
    if imported > 0 {
      failure.advice += " \(Quantity.count(imported, "value", "values")) before it are in the database."
    }
    return failure
  }
}
