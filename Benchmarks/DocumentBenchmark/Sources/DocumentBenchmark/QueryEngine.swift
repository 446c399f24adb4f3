import Latewood

/// The queries that both engines answer. Each call reads one state and returns a sum of its
/// results, which must be the same for both engines.
protocol QueryEngine {
  init(at path: String) throws
  /// Saves documents in one transaction. A document with an existing id is replaced.
  func save(_ documents: [(id: String, json: String)]) throws
  func createIndex(_ field: String) throws
  /// Returns the total length, in bytes, of the ids of the documents whose `n` equals a number.
  /// Reads whole documents.
  func point(_ number: Int) throws -> Int
  /// Returns the sum of `n` over the documents in a range of `n`, from the index alone.
  func covered(_ range: Range<Int>) throws -> Int
  /// Like the function above, but reads whole documents and returns the total length of their ids.
  func bodies(_ range: Range<Int>) throws -> Int
  func count(_ range: Range<Int>) throws -> Int
  func sum(_ range: Range<Int>) throws -> Int
  /// Returns the sum of `n` over the ten documents that follow the first `offset` ones in the order
  /// of `n`.
  func page(behind offset: Int) throws -> Int
  /// Returns the sum of `n` over the ten documents with the greatest `n`.
  func top() throws -> Int
  /// Like the function above, but reads whole documents and returns the total length of their ids.
  func topBodies() throws -> Int
  /// Returns the number of documents that have a text, by reading every document.
  func scan(_ text: String) throws -> Int
  func close() throws
}

/// Latewood through its public product.
struct LatewoodQueries: QueryEngine {
  private let database: Database
  private let collection: DocumentCollection
  // The queries are kept, like SQLite's statements.
  private let topQuery: Query<Document>
  private let topNumbers: RowQuery<Int>

  init(at path: String) throws {
    database = try Database.open(at: path + ".latewood")
    collection = try database.defaultCollection
    topQuery = collection.query().sorted { $0["n"].descending }.limit(10)
    topNumbers = topQuery.select { $0["n"].as(Int.self) }
  }

  func save(_ documents: [(id: String, json: String)]) throws {
    try database.inBatch {
      for document in documents {
        try collection.save(MutableDocument(id: document.id, json: document.json), .lastWriteWins)
      }
    }
  }

  func createIndex(_ field: String) throws { try collection.createIndex(field, on: [.ascending(field)]) }

  func point(_ number: Int) throws -> Int {
    try size(collection.query().where { $0["n"] == number }.all())
  }

  func covered(_ range: Range<Int>) throws -> Int {
    try query(range).select { $0["n"].as(Int.self) }.rows().reduce(0, +)
  }

  func bodies(_ range: Range<Int>) throws -> Int {
    try size(query(range).all())
  }

  func count(_ range: Range<Int>) throws -> Int {
    try collection.query().where { $0["n"] >= range.lowerBound && $0["n"] < range.upperBound }.count()
  }

  func sum(_ range: Range<Int>) throws -> Int {
    try query(range).sum { $0["n"].as(Int.self) }
  }

  func page(behind offset: Int) throws -> Int {
    try collection.query().sorted { $0["n"] }.limit(10, offset: offset).select { $0["n"].as(Int.self) }.rows()
      .reduce(0, +)
  }

  func top() throws -> Int { try topNumbers.rows().reduce(0, +) }

  func topBodies() throws -> Int { try size(topQuery.all()) }

  func scan(_ text: String) throws -> Int { try collection.query().where { $0["text"] == text }.count() }

  func close() throws { try database.close() }

  private func query(_ range: Range<Int>) -> Query<Document> {
    collection.query().where { $0["n"] >= range.lowerBound && $0["n"] < range.upperBound }.sorted { $0["n"] }
  }

  private func size(_ documents: [Document]) -> Int { documents.reduce(0) { $0 + $1.id.utf8.count } }
}
