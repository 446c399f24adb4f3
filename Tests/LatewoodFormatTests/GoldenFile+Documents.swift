import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodSimulation
import LatewoodStore

/// A file of documents. `GoldenDatabaseTests` reads it as an app does.
extension GoldenFile {
  static func documents(_ format: DocumentFormat) throws -> GoldenFile {
    let volume = MemoryVolume()
    var options = DocumentOptions()
    options.format = format
    options.depth = 3
    options.expiresByItself = false
    options.store.checkpointsInBackground = false
    options.store.compaction = .manual
    options.environment = ModelledStore.environment(seed: 31)
    let path = ModelledStore.path
    let store = try DocumentStore.open(at: path, on: volume, mode: .createNew, options: options)
    ModelledStore.skipReadings(of: options.environment, collections: 1)
    let script = try DocumentScript(store)
    try script.makeFilms()
    try script.makeIndexes()
    try store.store.checkpoint()
    try script.makePeople()
    try script.makeConflicts()
    try script.makeForeignRevisions()
    try store.close()
    let plain = try Store.open(
      at: path, on: volume, mode: .readOnly, options: Store.Options(),
      environment: ModelledStore.environment(seed: 32))
    let listing = try plain.listing()
    try plain.close()
    let name = format == .version1 ? "documents" : "documents-\(format.rawValue)"
    return GoldenFile(name, try Repository.read(volume, path), .reads(listing: listing))
  }
}

/// The contents of the file of documents.
private struct DocumentScript {
  private let store: DocumentStore
  private let people: CollectionHandle
  private let films: CollectionHandle

  init(_ store: DocumentStore) throws {
    self.store = store
    films = try store.createCollection("films")
    guard let people = try store.collection(CollectionHandle.defaultName) else {
      throw DatabaseError(.notFound, "the default collection is missing")
    }
    self.people = people
  }

  @discardableResult
  private func save(
    _ id: String, in collection: CollectionHandle, _ json: String, over parent: RevisionID? = nil,
    isDeleted: Bool = false, blobs: [BlobDigest] = []
  ) throws -> RevisionID {
    let body = try JSON.fleece(from: json)
    return try store.write { writer in
      try writer.save(
        id, in: collection, body: body, parent: parent, isDeleted: isDeleted, blobs: blobs
      ).revision
    }
  }

  /// Forty films in one batch, one with an expiry, and a collection that is dropped.
  func makeFilms() throws {
    try store.write { [films] writer in
      for number in 0..<40 {
        let id = "film \(number)"
        let cast = (0..<number % 3).map { "\"actor \($0)\"" }.joined(separator: ",")
        let body = try JSON.fleece(
          from: #"{"id":"\#(id)","title":"Title \#(number % 7)","year":\#(1960 + number),"#
            + #""code":"c\#(number)","cast":[\#(cast)]}"#)
        _ = try writer.save(id, in: films, body: body, parent: nil)
      }
      try writer.setExpiry(of: "film 3", in: films, 4_000_000_000)
    }
    let old = try store.createCollection("old")
    try save("gone", in: old, "{}")
    _ = try store.dropCollection("old")
  }

  func makeIndexes() throws {
    func definition(
      _ fields: [String], where condition: String? = nil, unique: Bool = false
    ) throws -> IndexDefinition {
      try IndexDefinition(
        fields.map { try IndexDefinition.Part(parsing: $0) },
        where: condition.map { try MangoParser.predicate(json: $0) }, isUnique: unique)
    }
    try store.createIndex("by year", definition(["title", "year:desc"]), in: films)
    try store.createIndex("by code", definition(["code"], unique: true), in: films)
    try store.createIndex("cast", definition(["cast[]"]), in: films)
    try store.createIndex("new", definition(["year"], where: #"{"year":{"$gte":1990}}"#), in: films)
    try store.createIndex("given up", definition(["year"]), in: films)
    try store.dropIndex("given up", in: films)
  }

  /// Edits, more of them than are kept; deletions; blobs; local documents.
  func makePeople() throws {
    var last: RevisionID?
    for edit in 1...5 { last = try save("anna", in: people, #"{"edit":\#(edit)}"#, over: last) }
    let ben = try save("ben", in: people, #"{"name":"Ben"}"#)
    try save("ben", in: people, "{}", over: ben, isDeleted: true)
    try save("purged", in: people, "{}")
    try store.write { [people] writer in _ = try writer.purge("purged", in: people) }
    try save(
      "früchte 🍐", in: people,
      #"{"null":null,"yes":true,"int":-9007199254740993,"big":18446744073709551615,"real":0.1,"text":"\u0001\"é","#
        + #""list":[1,[2,{"a":[]}]],"empty":{}}"#)
    let small = try store.putBlob([1, 2, 3])
    let large = try store.putBlob((0..<5000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    let lost = BlobDigest([UInt8](repeating: 9, count: 32))
    // One blob in each document, because the order in which references are written varies.
    try save("icon", in: people, #"{"blob":\#(json(small.digest, 3))}"#, blobs: [small.digest])
    try save("photo", in: people, #"{"blob":\#(json(large.digest, 5000))}"#, blobs: [large.digest])
    try save("same", in: people, #"{"blob":\#(json(small.digest, 3))}"#, blobs: [small.digest])
    if let lost { try save("lost", in: people, #"{"blob":\#(json(lost, 7))}"#, blobs: [lost]) }
    let place = try JSON.fleece(from: #"{"at":17}"#)
    try store.write { [people] writer in _ = try writer.putLocal("place", in: people, body: place) }
  }

  private func json(_ digest: BlobDigest, _ length: Int) -> String {
    let text = "sha256-" + Base64.encode(digest.bytes)
    return #"{"@type":"blob","content_type":"image/png","digest":"\#(text)","length":\#(length)}"#
  }

  /// An open conflict with an additional deleted branch, and a resolved conflict.
  func makeConflicts() throws {
    for id in ["waiting", "resolved"] {
      let root = try save(id, in: people, #"{"by":"root"}"#)
      try save(id, in: people, #"{"by":"me"}"#, over: root)
      let theirs = try RevisionID("2-" + String(repeating: "f", count: 40))
      let deleted = try RevisionID("2-" + String(repeating: "0", count: 40))
      let (body, empty) = (try JSON.fleece(from: #"{"by":"them"}"#), try JSON.fleece(from: "{}"))
      try store.write { [people] writer in
        try writer.insert(id, in: people, history: [theirs, root], body: body)
        try writer.insert(id, in: people, history: [deleted, root], body: empty, isDeleted: true)
      }
    }
    let (merged, tombstone) = (try JSON.fleece(from: #"{"by":"both"}"#), try JSON.fleece(from: "{}"))
    try store.write { [people] writer in
      try writer.resolveConflicts(of: "resolved", in: people, merged: merged, tombstone: tombstone)
    }
  }

  /// Revisions of another database, whose digests are texts.
  func makeForeignRevisions() throws {
    for (leaf, by) in [("2-ABC", "them"), ("2-abc-def", "others")] {
      let history = try [leaf, "1-5ac"].map { try RevisionID($0) }
      let body = try JSON.fleece(from: #"{"by":"\#(by)"}"#)
      try store.write { [people] writer in
        _ = try writer.insert("foreign", in: people, history: history, body: body)
      }
    }
  }
}
