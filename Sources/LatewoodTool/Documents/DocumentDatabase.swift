import LatewoodDevice
import LatewoodDocuments
import LatewoodStore

/// A database of documents that a command has opened.
struct DocumentDatabase {
  let store: DocumentStore
  let path: String

  /// Opens a database read-only, which is possible while another process writes.
  static func reading(_ arguments: Arguments) throws -> DocumentDatabase {
    try open(arguments, .readOnly)
  }

  static func open(_ arguments: Arguments, _ mode: Store.OpenMode) throws -> DocumentDatabase {
    try open(path: try arguments.text(0), mode, waiting: try arguments.lockTimeout())
  }

  static func open(
    path: String, _ mode: Store.OpenMode, waiting timeout: Duration = .zero
  ) throws -> DocumentDatabase {
    var options = DocumentOptions()
    options.store.lockTimeout = timeout
    options.store.setKey()
    options.store.compaction = .manual
    options.store.keepsBoundsWhenClosed = true
    options.expiresByItself = false
    let store = try Failure.naming(path) {
      try DocumentStore.open(at: path, mode: mode, options: options)
    }
    return DocumentDatabase(store: store, path: path)
  }

  /// Opens a database read-only as `Database.inspecting` does.
  static func inspecting(
    _ path: String, on volume: any Volume = FileVolume()
  ) throws -> DocumentDatabase {
    var options = DocumentOptions()
    options.store.compaction = .manual
    options.store.reading = .buffered(cacheBytes: 64 << 20)
    options.store.setKey()
    options.expiresByItself = false
    let store = try Failure.naming(path) {
      try DocumentStore.open(at: path, on: volume, mode: .readOnly, options: options)
    }
    return DocumentDatabase(store: store, path: path)
  }

  /// Runs `body` and closes the database. An error of `body` takes precedence over an error of
  /// closing.
  func closing<R>(_ body: (DocumentDatabase) throws -> R) throws -> R {
    let result: R
    do { result = try body(self) } catch {
      do throws(DatabaseError) { try store.close() } catch {}
      throw error
    }
    try store.close()
    return result
  }

  /// Returns the collection that an option names.
  static func collectionName(_ arguments: Arguments) throws -> String? {
    guard let name = try arguments.text(of: .collection) else { return nil }
    if let objection = NameRules.objection(toCollection: name) {
      throw Failure.usage("the name of the collection \(objection)")
    }
    return name
  }

  /// Returns the collection that the arguments name, which must exist, or the usual one.
  func collection(_ arguments: Arguments) throws -> CollectionHandle {
    try collection(Self.collectionName(arguments) ?? usualCollectionName())
  }

  /// Returns the collection for commands that name none: the only collection of the database, or
  /// `_default` if there are several or none.
  func usualCollectionName() throws -> String {
    let names = try usedCollectionNames()
    return names.count == 1 ? names[0] : CollectionHandle.defaultName
  }

  /// Returns the names of all collections. `_default`, which is always there, counts only if it has
  /// documents or tombstones.
  func usedCollectionNames() throws -> [String] {
    let snapshot = try store.snapshot()
    return try snapshot.collectionNames().filter { name in
      guard name == CollectionHandle.defaultName, let collection = try store.collection(name) else {
        return true
      }
      let totals = try snapshot.reads(collection).totals()
      return totals.documents + totals.tombstones > 0
    }
  }

  func collection(_ name: String) throws -> CollectionHandle {
    if let collection = try store.collection(name) { return collection }
    throw Failure(
      .no, code: "noSuchCollection", "no collection is named \(KeyText.shown(name.utf8))",
      advice: "`latewood collections` lists the collections of the file.", path: path)
  }

  func reads(_ collection: CollectionHandle) throws -> DocumentReads {
    try store.reads(collection)
  }
}

extension Database {
  /// Returns whether the file belongs to the document engine, whose keyspaces must not be written
  /// to directly.
  func holdsDocuments() throws -> Bool {
    return try store.existingKeyspace("documents/\(CollectionHandle.defaultName)") != nil
      && store.existingKeyspace("database") != nil
  }

  /// Refuses a file of documents, for commands that write plain entries.
  ///
  /// - Parameter instead: the command for documents and its effect.
  func refusingDocuments(instead: String) throws {
    guard try holdsDocuments() else { return }
    throw Failure(
      .badInput, code: "holdsDocuments", "the file holds documents, and this command writes plain entries",
      advice: "\(instead) Plain entries need a separate file.", path: path)
  }
}

extension OptionDescription {
  static let documents = OptionDescription(
    name: "--documents", summary: "documents of a collection, even if the file or SOURCE suggests entries")
  static let entries = OptionDescription(
    name: "--entries", summary: "keys and values of a keyspace instead of documents")
  static let collection = OptionDescription(
    name: "--collection", value: "NAME", summary: "the collection of the documents")
  static let idField = OptionDescription(
    name: "--id", value: "FIELD",
    summary: "documents: the member whose value becomes the id; a.b looks inside a, a+b takes both")
}

extension Arguments {
  func encoding() throws -> TextEncoding? { try text(of: .encoding).flatMap(TextEncoding.init(rawValue:)) }

  /// Returns the form according to `--format` or the extension of the source's name; nil to
  /// recognize it from the text.
  func importForm(of source: ImportSource) throws -> ImportForm? {
    var form = try text(of: .importFormat).flatMap(ImportForm.init(rawValue:))
    if form == nil, CSVFormat.isMeant(byName: source.name) { form = .csv }
    for option in [OptionDescription.cellTypes, .separator, .columns] where has(option) && form != .csv {
      throw Failure.usage("\(option.name) requires CSV", advice: "Add --format csv if SOURCE is CSV.")
    }
    return form
  }
}
