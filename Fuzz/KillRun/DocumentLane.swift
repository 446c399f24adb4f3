import LatewoodDocuments
import LatewoodFleece
import LatewoodModels
import LatewoodQuery
import LatewoodStore

/// The documents that a child writes, batch by batch. Each batch follows from its number and the
/// previous state.
struct DocumentLane {
  static let documents = 40
  static let counter = "counter"

  private(set) var model = DocumentModel()
  private(set) var last = 0

  /// One change of a batch.
  private enum Change {
    case save(String, parent: RevisionID?, body: [UInt8], isDeleted: Bool, blob: BlobDigest?)
    /// A revision that another replica has created after the first revision.
    case insert(String, history: [RevisionID], body: [UInt8])
    case purge(String)
    case expire(String, UInt64)
    case note(String, [UInt8])
  }

  private static func id(_ number: Int, _ place: Int) -> String {
    "document \((number &* 7919 &+ place &* 131) % documents)"
  }

  /// Returns the blob of a batch; nil if it has none. Some have several chunks.
  private static func blob(_ number: Int) -> [UInt8]? {
    guard number % 6 == 0 else { return nil }
    let length = number % 24 == 0 ? 1_100_000 : number % 12 == 0 ? 70_000 : 40
    return Array("\(number) ".utf8) + [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: length)
  }

  private static func body(_ number: Int, _ place: Int, _ blob: BlobDigest? = nil) throws -> [UInt8] {
    let words = (0..<((number &* 37 &+ place) % 180)).map { "w\((number &+ $0 &* $0) % 61)" }
    let text = words.joined(separator: " ")
    let picture = blob.map {
      #","picture":{"@type":"blob","digest":"sha256-\#(Base64.encode($0.bytes))"}"#
    }
    return try JSON.fleece(
      from: #"{"number":\#(number),"place":\#(place),"text":"\#(text)"\#(picture ?? "")}"#)
  }

  private static func revision(
    after parent: RevisionID?, isDeleted: Bool, _ body: [UInt8]
  ) throws -> RevisionID {
    let algorithm = DocumentFormat.newest.digestAlgorithm
    return try body.withUnsafeBytes {
      try RevisionID(editing: parent, isDeleted: isDeleted, body: $0, by: algorithm)
    }
  }

  /// Creates the next batch in memory. Returns its changes, and the blob that must exist first.
  private mutating func prepare() throws -> (changes: [Change], blob: [UInt8]?) {
    last += 1
    let blob = Self.blob(last)
    let digest = blob.map { BlobDigest(of: $0) }
    var changes: [Change] = []
    for place in 0..<3 {
      let id = Self.id(last, place)
      let known = model.documents[id]
      let isDeleted = known?.isDeleted == false && (last + place) % 5 == 0
      let picture = place == 0 && !isDeleted ? digest : nil
      let body = try Self.body(last, place, picture)
      let parent = known?.winner
      let revision = try Self.revision(after: parent, isDeleted: isDeleted, body)
      changes.append(.save(id, parent: parent, body: body, isDeleted: isDeleted, blob: picture))
      model.replace(id, parent, revision, body, isDeleted: isDeleted, blob: picture)
    }
    if last % 11 == 0 {
      let id = Self.id(last, 3)
      let (first, body) = (try Self.body(last, 100), try Self.body(last, 101))
      let root = try Self.revision(after: nil, isDeleted: false, first)
      let leaf = try Self.revision(after: root, isDeleted: false, body)
      changes.append(.insert(id, history: [leaf, root], body: body))
      model.replace(id, nil, leaf, body, isDeleted: false, blob: nil)
    }
    let aged = Self.id(last, 1)
    if last % 4 == 0, model.documents[aged]?.isDeleted == false {
      // The time lies long after every run.
      let time = UInt64(40_000_000_000 + last)
      changes.append(.expire(aged, time))
      model.documents[aged]?.expiry = time
    }
    let purged = Self.id(last, 7)
    if last % 9 == 0, model.documents[purged] != nil {
      changes.append(.purge(purged))
      model.purge(purged)
    }
    let note = "note \(last % 5)"
    for name in [Self.counter, note] {
      let body = try Self.body(last, 200)
      changes.append(.note(name, body))
      model.local[name] = body
    }
    return (changes, blob)
  }

  mutating func advance(to number: Int) throws {
    while last < number { _ = try prepare() }
  }

  /// Commits the next batch to the database.
  mutating func commit(to store: DocumentStore, _ collection: CollectionHandle) throws {
    let (changes, blob) = try prepare()
    try changeIndex(of: store, collection)
    // Pins the blob until the batch that refers to it is done.
    let handle = try blob.map { try store.putBlob($0) }
    try store.write(durability: .synchronous) { writer in
      for change in changes {
        switch change {
        case .save(let id, let parent, let body, let isDeleted, let blob):
          let blobs = blob.map { [$0] } ?? []
          try writer.save(id, in: collection, body: body, parent: parent, isDeleted: isDeleted, blobs: blobs)
        case .insert(let id, let history, let body):
          _ = try writer.insert(id, in: collection, history: history, body: body, isDeleted: false)
        case .purge(let id): _ = try writer.purge(id, in: collection)
        case .expire(let id, let time): try writer.setExpiry(of: id, in: collection, time)
        case .note(let name, let body): try writer.putLocal(name, in: collection, body: body)
        }
      }
    }
    withExtendedLifetime(handle) {}
  }

  /// Builds the full-text index before the third of 64 batches, and drops it before the first. The
  /// other calls would build an index again that was emptied as damaged, and must find nothing to
  /// do: see `hasIndex`.
  private func changeIndex(of store: DocumentStore, _ collection: CollectionHandle) throws {
    switch last % 64 {
    case 0: _ = try store.dropIndex("words", in: collection)
    case let place where place % 8 == 3:
      try store.createIndex("words", fullText: TextDefinition([.init(parsing: "text")]), in: collection)
    default: break
    }
  }

  /// Whether the full-text index has been built, and not yet been dropped, after the last batch and
  /// before the next one.
  private var hasIndex: Bool { (3..<63).contains(last % 64) }

  static func collection(of store: DocumentStore) throws -> CollectionHandle {
    guard let found = try store.collection(CollectionHandle.defaultName) else {
      throw Failure("there is no default collection")
    }
    return found
  }

  /// Returns the number of the newest batch in a database.
  static func newest(in reads: DocumentReads) throws -> Int {
    guard let body = try reads.local(counter) else { return 0 }
    let number = try FleeceBody(body).withRoot { value throws(FleeceError) in
      try value.dictionary()?.value(for: "number")?.number()
    }
    guard case .integer(let integer)? = number else { throw Failure("the counter is \(body)") }
    return Int(integer)
  }

  /// Returns the first difference between the database and the state after `last`; nil if they are
  /// equal.
  func difference(to store: DocumentStore) throws -> String? {
    if let difference = try model.difference(to: store.reads(Self.collection(of: store))) {
      return difference
    }
    let index = try store.reads(Self.collection(of: store)).textIndexList().first
    if hasIndex, index?.isReady != true { return "the full-text index is not ready after batch \(last)" }
    for (id, document) in model.documents {
      for (revision, digest) in document.blobs where document.live[revision] != nil {
        if try store.blob(digest) == nil { return "the blob of \(id) is missing" }
      }
    }
    return nil
  }
}
