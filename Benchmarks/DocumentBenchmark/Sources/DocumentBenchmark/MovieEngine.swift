import Latewood

/// The tasks of the workload `documents`, which both engines perform with the same JSON texts.
/// Reading tasks return a sum of their results, which must be the same for both.
protocol MovieEngine {
  static var name: String { get }
  init(at path: String, _ safety: Safety) throws
  /// Saves new documents in one transaction.
  func save(_ documents: ArraySlice<Movie>) throws
  /// Returns the length, in bytes, of the title of a document.
  func title(of id: String) throws -> Int
  /// Reads the feed from the start and returns the number of its entries and of the bytes of their
  /// ids.
  func feed() throws -> Int
  /// Adds 1 to the year of documents, in one transaction.
  func edit(_ documents: ArraySlice<Movie>) throws
  /// Returns the sum of the years of all documents.
  func sumOfYears() throws -> Int
  /// Makes the file as small as the engine can.
  func compact() throws
  /// Closes the file, with all deferred work done.
  func close() throws
}

/// The failure that a transaction survives once it has returned.
enum Safety {
  /// A crash of the process.
  case relaxed
  /// A power failure.
  case full
}

/// A document of the workload.
struct Movie {
  var id: String
  var json: String
}

/// Latewood through its public product.
struct LatewoodMovies: MovieEngine {
  static let name = "Latewood"
  private let database: Database
  private let collection: DocumentCollection

  init(at path: String, _ safety: Safety) throws {
    var configuration = Database.Configuration()
    configuration.durability = safety == .full ? .synchronous : .relaxed
    database = try Database.open(at: path, configuration: configuration)
    collection = try database.defaultCollection
  }

  func save(_ documents: ArraySlice<Movie>) throws {
    guard documents.count > 1 else { return try documents.forEach(save) }
    try database.inBatch { try documents.forEach(save) }
  }

  private func save(_ document: Movie) throws {
    try collection.save(MutableDocument(id: document.id, json: document.json))
  }

  func title(of id: String) throws -> Int {
    try collection.document(id)?["title"].string?.utf8.count ?? 0
  }

  func feed() throws -> Int {
    var sum = 0
    try collection.forEachChange { entry in
      sum += 1 + entry.id.utf8.count
      return true
    }
    return sum
  }

  func edit(_ documents: ArraySlice<Movie>) throws {
    try database.inBatch {
      for document in documents {
        var copy = try collection.mutableDocument(document.id)
        copy["year"].int = copy.int("year") + 1
        try collection.save(copy)
      }
    }
  }

  func sumOfYears() throws -> Int { try collection.query().sum { $0["year"].as(Int.self) } }

  func compact() throws { try database.compact() }

  func close() throws { try database.close() }
}
