import Latewood

/// The work with an index of words that both engines do. Each query returns a number that must be
/// the same for both.
protocol TextEngine {
  init(at path: String) throws
  /// Saves documents in one transaction. A document with an existing number is replaced.
  func save(_ documents: ArraySlice<(number: Int, text: String)>) throws
  func createIndex() throws
  /// Reads the ids of the ten best documents; returns how many there are.
  func top(_ query: String) throws -> Int
  func count(_ query: String) throws -> Int
  /// Makes the file as small as the engine can.
  func compact() throws
  func close() throws
}

/// Latewood through its public product.
struct LatewoodTexts: TextEngine {
  private let database: Database
  private let collection: DocumentCollection

  init(at path: String) throws {
    var configuration = Database.Configuration()
    configuration.durability = .relaxed
    database = try Database.open(at: path + ".latewood", configuration: configuration)
    collection = try database.defaultCollection
  }

  func save(_ documents: ArraySlice<(number: Int, text: String)>) throws {
    try database.inBatch {
      for document in documents {
        let json = #"{"text":"\#(document.text)"}"#
        try collection.save(MutableDocument(id: "text-\(document.number)", json: json), .lastWriteWins)
      }
    }
  }

  func createIndex() throws { try collection.createIndex("words", fullText: ["text"]) }

  func top(_ query: String) throws -> Int {
    try collection.query().where { $0.matches("words", query) }.ranked().limit(10).documentIDs().count
  }

  func count(_ query: String) throws -> Int {
    try collection.query().where { $0.matches("words", query) }.count()
  }

  func compact() throws { try database.compact() }

  func close() throws { try database.close() }
}
