import Latewood

/// The common task of both engines: store a JSON text under an id, so that it survives a power
/// failure once the call returns.
protocol DocumentEngine {
  init(at path: String) throws
  func save(_ id: String, _ json: String) throws
  func close() throws
}

/// Latewood through its public product: the text becomes a document with a revision, in the feed.
struct LatewoodDocuments: DocumentEngine {
  private let database: Database
  private let collection: DocumentCollection

  init(at path: String) throws {
    database = try Database.open(at: path)
    collection = try database.defaultCollection
  }

  func save(_ id: String, _ json: String) throws {
    try collection.save(MutableDocument(id: id, json: json))
  }

  func fill(_ documents: [(id: String, json: String)]) throws {
    for start in stride(from: 0, to: documents.count, by: 1000) {
      try database.inBatch {
        for document in documents[start..<min(documents.count, start + 1000)] {
          try save(document.id, document.json)
        }
      }
    }
  }

  func title(of id: String) throws -> String { try collection.document(id)?["title"].string ?? "" }

  func close() throws { try database.close() }
}
