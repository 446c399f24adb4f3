import LatewoodDocuments

/// The purpose of bytes that belong to a keyspace. `--json` prints the raw values.
enum SpaceKind: String, CaseIterable {
  case currentBodies
  case supersededBodies
  case records
  case indexes
  case views
  case feed
  case blobs
  case localDocuments
  case expiry
  /// The entries of keyspaces that do not belong to documents.
  case entries
  /// The catalog of keyspaces, and the records of the database.
  case catalog

  var words: String {
    switch self {
    case .currentBodies: "current bodies"
    case .supersededBodies: "bodies of old revisions"
    case .records: "records, revision trees"
    case .indexes: "indexes"
    case .views: "views"
    case .feed: "feed of changes"
    case .blobs: "blobs, and what refers to them"
    case .localDocuments: "local documents"
    case .expiry: "times of expiry"
    case .entries: "keys and values"
    case .catalog: "names and settings"
    }
  }
}

/// The role of a keyspace in a database of documents, derived from its name: FORMAT.md, section 13.
struct SpaceRole: Equatable {
  let kind: SpaceKind
  /// The collection; nil if it does not belong to one.
  let collection: String?

  static let catalogName = "catalog"

  /// - Parameter isOfDocuments: whether the file has documents; if not, all names are the user's.
  init(_ name: String, isOfDocuments: Bool) {
    guard isOfDocuments else {
      (kind, collection) = (.entries, nil)
      return
    }
    let parts = name.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      let shared: [String: SpaceKind] = ["database": .catalog, "blobs": .blobs, "chunks": .blobs]
      (kind, collection) = (shared[name] ?? .entries, nil)
      return
    }
    let ofCollections: [Substring: SpaceKind] = [
      "documents": .records, "marks": .records, "sequences": .feed, "bodies": .currentBodies,
      "superseded": .supersededBodies, "local": .localDocuments, "expiry": .expiry, "references": .blobs,
      "uses": .blobs, "entries": .indexes, "words": .indexes, "rows": .views, "emitted": .views,
      "sums": .views,
    ]
    guard let found = ofCollections[parts[0]] else {
      (kind, collection) = (.entries, nil)
      return
    }
    // The names of the keyspaces of an index or a view end with its number.
    let isNumbered = found == .indexes || found == .views
    let end = isNumbered ? parts[1].lastIndex(of: "/") ?? parts[1].endIndex : parts[1].endIndex
    (kind, collection) = (found, String(parts[1][..<end]))
  }
}
