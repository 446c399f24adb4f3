import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// Puts documents into a collection, a thousand to a batch.
///
/// Unique indexes are checked at the end of a batch, because documents of the source may exchange
/// values. The partner of an exchange can be further on in the source, so a batch that is refused
/// for this reason grows, up to a limit.
///
/// Batches are `.relaxed` until `finish`, as in `ImportWriter`; the record of the import is the
/// local document `latewood.import`.
struct DocumentImport: ImportTarget {
  private static let batchDocuments = 1000
  private static let batchBytes = 4 << 20
  /// The greatest size of a batch that grows because values are not unique at its end.
  private static let grownBytes = 64 << 20

  private let store: DocumentStore
  private let collection: CollectionHandle
  private let existing: ImportWriter.Existing
  private var record: ImportRecord
  private var removesOld: Bool
  private let reader = BodyReader()
  /// A document that the reader has prepared.
  private var prepared: (id: String, length: Int, line: Int)?
  private var batch: [(id: String, body: [UInt8], line: Int)] = []
  private var pendingBytes = 0
  /// How many times the usual size the pending batch may have.
  private var growth = 1
  private(set) var added = 0
  private(set) var replaced = 0
  private(set) var kept = 0

  init(
    _ store: DocumentStore, _ collection: CollectionHandle, record: ImportRecord,
    existing: ImportWriter.Existing, removesOld: Bool
  ) {
    self.store = store
    self.collection = collection
    self.record = record
    self.record.isComplete = false
    self.existing = existing
    self.removesOld = removesOld
  }

  mutating func put(_ key: [UInt8], _ value: UnsafeRawBufferPointer, line: Int) throws {
    try Failure.amending {
      try Self.check(id: key)
      try reader.prepare(value)
    } by: {
      $0.line = line
    }
    prepared = (String(decoding: key, as: UTF8.self), value.count, line)
  }

  mutating func settle() throws {
    guard let (id, length, line) = prepared else { return }
    prepared = nil
    let body = try Failure.amending {
      try reader.body()
    } by: {
      $0.line = line
    }
    batch.append((id, body, line))
    try added(bytes: length)
  }

  mutating func put(
    text: UnsafeRawBufferPointer, line: Int, key: (FleeceElement) -> [UInt8]?
  ) throws -> Bool {
    guard let value = reader.value(ofText: text), let key = key(value) else { return false }
    let id = String(decoding: key, as: UTF8.self)
    guard NameRules.objection(toID: id) == nil else { return false }
    try Failure.amending {
      try BodyReader.check(value)
    } by: {
      $0.line = line
    }
    batch.append((id, value.body.bytes, line))
    try added(bytes: text.count)
    return true
  }

  /// Throws if documents cannot have an id.
  static func check(id: [UInt8]) throws {
    guard let objection = NameRules.objection(toID: String(decoding: id, as: UTF8.self)) else { return }
    throw Failure.badInput(
      "the document id \(Arguments.quoted(id)) \(objection)",
      advice: "Ids have 1 to 8,000 bytes and no underscore at the start: choose another "
        + "member, or several such as title+year, with --id.")
  }

  private mutating func added(bytes: Int) throws {
    pendingBytes += bytes
    guard batch.count >= growth * Self.batchDocuments || pendingBytes >= growth * Self.batchBytes else {
      return
    }
    do { try commit(.relaxed) } catch let error as DatabaseError where error.code == .notUnique {
      guard pendingBytes < Self.grownBytes else { throw error }
      growth *= 2
    }
  }

  mutating func finish() throws {
    record.isComplete = true
    try commit(.synchronous)
  }

  private mutating func commit(_ durability: Durability) throws {
    let (batch, existing, collection, removesOld) = (batch, existing, collection, removesOld)
    var counts = (added: 0, replaced: 0, kept: 0)
    let note = try JSON.fleece(from: record.encoded)
    try store.write(durability: durability, uniqueness: .atEnd) { writer in
      if removesOld { try Self.removeAll(writer, collection) }
      try writer.putLocal(ImportRecord.localName, in: collection, body: note)
      for document in batch {
        // A save that may replace documents does not need this check.
        if existing != .replace, try writer.reads(collection).head(of: document.id)?.isDeleted == false {
          if existing == .fail { throw ImportWriter.exists(Array(document.id.utf8), line: document.line) }
          counts.kept += 1
          continue
        }
        let saved = try writer.save(
          document.id, in: collection, body: document.body, parent: nil,
          blobs: BlobReferences.find(in: document.body), policy: .lastWriteWins)
        if saved.isReplacement { counts.replaced += 1 } else { counts.added += 1 }
      }
    }
    added += counts.added
    replaced += counts.replaced
    kept += counts.kept
    self.removesOld = false
    self.batch.removeAll(keepingCapacity: true)
    pendingBytes = 0
    growth = 1
  }

  private static func removeAll(_ writer: DocumentWriter, _ collection: CollectionHandle) throws {
    var query = AllDocumentsQuery()
    query.includesDeleted = true
    var ids: [String] = []
    try writer.reads(collection).forEachDocument(query) { id, _ in
      ids.append(id)
      return true
    }
    for id in ids { try writer.purge(id, in: collection) }
  }
}

extension ImportRecord {
  /// The name of the local document in which a collection keeps its record.
  static let localName = "latewood.import"

  /// Returns the record of a collection; nil if nothing was imported into it.
  static func read(_ reads: DocumentReads) throws -> ImportRecord? {
    guard let body = try reads.local(localName) else { return nil }
    return ImportRecord(try JSON.text(of: body))
  }
}

extension Importer {
  /// Imports all values as documents.
  mutating func run(_ database: DocumentDatabase, _ arguments: Arguments) throws -> ImportReport {
    let chosen = try ImportCollection(for: source, arguments, in: database)
    try chosen.checkReplacing(arguments)
    let name = chosen.name
    var record = ImportRecord(shape: shape, source: source.name, isComplete: false)
    let collection: CollectionHandle
    var isEmpty = true
    collection = try database.store.createCollection(name)
    isEmpty = try database.store.reads(collection).count() == 0
    if !isEmpty, !arguments.has(.replace) {
      if keys == .place {
        throw Failure(
          .badInput, code: "collectionInUse", "the collection \(name) is not empty",
          advice:
            "Choose another with --collection, remove its content with --replace, or choose ids with --id.",
          path: database.path)
      }
      if try ImportRecord.read(database.reads(collection))?.shape != shape { record.shape = .lines }
    }
    var target = DocumentImport(
      database.store, collection, record: record,
      existing: try arguments.text(of: .existing).flatMap(ImportWriter.Existing.init(rawValue:)) ?? .replace,
      removesOld: arguments.has(.replace))
    var report = try run(into: &target)
    report.place = name
    if let note = chosen.note { report.notes.insert(note, at: 0) }
    return report
  }
}
