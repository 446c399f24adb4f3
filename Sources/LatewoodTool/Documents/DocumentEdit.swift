import LatewoodDevice
import LatewoodDocuments
import LatewoodStore

/// A change of a document: `doc put`, `doc delete`, `doc purge` and `doc resolve`.
struct DocumentEdit {
  private let id: String
  /// The collection; before `run`, only if an option names it.
  private var collectionName: String
  /// The body from the given JSON; nil if there was none.
  private let body: [UInt8]?
  private let revision: String?
  private let isForced: Bool
  private let console: Console

  /// Reads and checks all input before a database is created or opened.
  init(
    _ id: String, _ words: ActionArguments, _ arguments: Arguments, _ console: Console
  ) throws {
    self.id = id
    self.console = console
    collectionName = try DocumentDatabase.collectionName(arguments) ?? ""
    revision = try arguments.text(of: .revision)
    isForced = arguments.has(.force)
    if isForced, revision != nil { throw Failure.usage("--force and --revision do not go together") }
    body = try Self.json(words, arguments, console).map { text in
      try BodyReader().body(of: text)
    }
    if words.action == "put", body == nil {
      throw Failure.usage(
        "JSON is missing", advice: "Give it as an argument, - for standard input, or --file FILE.")
    }
    if words.action == "resolve", body == nil, revision == nil {
      throw Failure.usage(
        "there is nothing to resolve the conflict with",
        advice: "Name the revision to keep with --revision, or give the merged document as JSON.")
    }
  }

  private static func json(
    _ words: ActionArguments, _ arguments: Arguments, _ console: Console
  ) throws -> [UInt8]? {
    if let path = try arguments.text(of: .file) {
      guard words.operand(2) == nil else {
        throw Failure.usage("JSON is given twice, in --file and as an argument")
      }
      return try ImportSource(path: path, console: console).readAll()
    }
    guard let text = words.operand(2) else { return nil }
    if text == [UInt8(ascii: "-")] { return try ImportSource(path: "-", console: console).readAll() }
    if let first = text.first, first != UInt8(ascii: "{"), first != UInt8(ascii: " ") {
      throw Failure.badInput(
        "\(Arguments.quoted(text)) is not the JSON of a document",
        advice: "It starts with {. The content of a file is read with --file FILE.")
    }
    return text
  }

  mutating func run(_ action: String, in database: DocumentDatabase) throws {
    if collectionName.isEmpty { collectionName = try database.usualCollectionName() }
    switch action {
    case "put": try put(in: database)
    case "delete": try delete(in: database)
    case "purge": try purge(in: database)
    default: try resolve(in: database)
    }
  }

  private func put(in database: DocumentDatabase) throws {
    let collection = try database.store.createCollection(collectionName)
    let body = body ?? []
    let saved = try write(database) { writer in
      let record = try writer.reads(collection).record(of: id)
      if !isForced { try check(record) }
      return try writer.save(
        id, in: collection, body: body, parent: try parent(in: record),
        blobs: BlobReferences.find(in: body),
        policy: isForced ? .lastWriteWins : .failOnConflict)
    }
    try report(saved)
  }

  private func parent(in record: DocumentRecord?) throws -> RevisionID? {
    guard let revision else { return nil }
    guard let record else { throw DocumentView.missing(id, "no document has the id") }
    return try DocumentView.revision(revision, in: record.tree)
  }

  /// Refuses an edit that would be a conflict, with advice on what to do.
  private func check(_ record: DocumentRecord?) throws {
    guard let record, let winner = record.tree.winner else { return }
    let shown = Arguments.quoted(Array(id.utf8))
    if let parent = try parent(in: record) {
      if record.tree[parent]?.isLeaf == true { return }
      throw Failure(
        .no, code: "conflict",
        "the document \(shown) is at \(winner.id) by now, and this follows from \(parent)",
        advice: "Read the document again, reapply your change and pass its revision, or use --force.")
    }
    if winner.isDeleted { return }
    throw Failure(
      .no, code: "conflict", "there is a document \(shown) already, at \(winner.id)",
      advice: "Pass that revision with --revision to replace it, or replace any revision with --force.")
  }

  private func delete(in database: DocumentDatabase) throws {
    let collection = try database.collection(collectionName)
    let empty = try BodyReader.empty()
    let body = body ?? empty
    let saved = try write(database) { writer in
      guard let record = try writer.reads(collection).record(of: id), let winner = record.tree.winner else {
        throw DocumentView.missing(id, "no document has the id")
      }
      if winner.isDeleted { throw DocumentView.missing(id, "there is only a tombstone of the document") }
      try check(revision == nil ? nil : record)
      return try writer.save(
        id, in: collection, body: body, parent: try parent(in: record) ?? winner.id, isDeleted: true,
        blobs: BlobReferences.find(in: body))
    }
    try report(saved)
  }

  private func purge(in database: DocumentDatabase) throws {
    let collection = try database.collection(collectionName)
    let purged = try write(database) { writer in
      guard let record = try writer.reads(collection).record(of: id) else {
        throw DocumentView.missing(id, "no document has the id")
      }
      guard let leaf = try parent(in: record) else {
        try writer.purge(id, in: collection)
        return record.tree.leaves.map(\.id)
      }
      guard record.tree[leaf]?.isLeaf == true else {
        throw Failure(
          .no, code: "conflict", "other revisions follow from \(leaf), and so it cannot be purged alone",
          advice: "Name the last revision of a branch; `latewood doc revisions` draws them.")
      }
      return try writer.purge(id, in: collection, leaves: [leaf])
    }
    if console.printsJSON {
      try console.object { writer in
        writer.member("id", id)
        writer.member("collection", collectionName)
        writer.array("purged", purged) { writer, revision in writer.text("\(revision)") }
      }
    } else {
      for revision in purged { try console.line("\(revision)") }
    }
  }

  private func resolve(in database: DocumentDatabase) throws {
    let collection = try database.collection(collectionName)
    let tombstone = try BodyReader.empty()
    let saved = try write(database) { writer in
      guard let record = try writer.reads(collection).record(of: id) else {
        throw DocumentView.missing(id, "no document has the id")
      }
      guard !record.tree.conflicts.isEmpty else {
        throw Failure(
          .no, code: "noConflict", "the document \(Arguments.quoted(Array(id.utf8))) is not in conflict",
          advice: "`latewood doc put` changes it.")
      }
      return try writer.resolveConflicts(
        of: id, in: collection, keeping: try parent(in: record), merged: body,
        blobs: body.map { BlobReferences.find(in: $0) } ?? [], tombstone: tombstone)
    }
    try report(saved)
  }

  private func write<R>(
    _ database: DocumentDatabase, _ body: (DocumentWriter) throws -> R
  ) throws -> R {
    try Failure.naming(database.path) { try database.store.write { writer in try body(writer) } }
  }

  private func report(_ saved: SavedRevision) throws {
    guard console.printsJSON else { return try console.line("\(saved.revision)") }
    try console.object { writer in
      writer.member("id", id)
      writer.member("collection", collectionName)
      writer.member("revision", "\(saved.revision)")
      writer.member("sequence", saved.sequence)
      writer.member("new", saved.isNew)
    }
  }
}
