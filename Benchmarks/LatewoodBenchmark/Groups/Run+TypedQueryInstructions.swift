import Latewood

/// Group `instructions`: queries through the public interface, by an index on a number.
extension Run where Engine == LatewoodEngine {
  /// - Returns: the number of queries, or the number of entries or documents for queries that read
  ///   many.
  func countTypedQueries(_ operation: CountedOperation) throws -> UInt64 {
    let count = options.records / 10
    let store = try openDocumentsToCount()
    let workload = try QueryWorkload(store: store, count: count)
    try workload.save(0..<count, over: false)
    try workload.createIndex("n")
    if operation != .coveringQueryOfBuffer { try store.store.checkpoint() }
    // The second handle shares the open file.
    let database = try Database.open(at: pathToCount)
    let query = TypedQueries(try database.defaultCollection, Int(count))
    // The first run plans the query and verifies the bytes that it reads.
    let expected = try query.run(operation)
    var found = expected
    try countInstructions { found = try query.run(operation) }
    guard found.sum == expected.sum else { throw BenchmarkFailure("\(found) instead of \(expected)") }
    try database.close()
    return UInt64(found.operations)
  }
}

/// The queries, and the sums of their results.
private struct TypedQueries {
  private let documents: DocumentCollection
  private let count: Int
  /// Queries that are kept.
  private let top: Query<Document>
  private let topNumbers: RowQuery<Int>
  private let repetitions = 200

  init(_ documents: DocumentCollection, _ count: Int) {
    self.documents = documents
    self.count = count
    top = documents.query().sorted { $0["n"].descending }.limit(10)
    topNumbers = top.select { $0["n"].as(Int.self) }
  }

  func run(_ operation: CountedOperation) throws -> (sum: Int, operations: Int) {
    switch operation {
    case .coveringQuery, .coveringQueryOfBuffer:
      let low = count / 4
      let rows = try query(low..<low + count / 2).sorted { $0["n"] }.select { $0["n"].as(Int.self) }.rows()
      return (rows.reduce(0, +), count / 2)
    case .rangeQueryOfDocuments:
      let low = count / 4
      return (Self.size(try query(low..<low + count / 2).sorted { $0["n"] }.all()), count / 2)
    case .scanQuery: return (try documents.query().where { $0["text"] == "none" }.count(), count)
    default: return (try (0..<repetitions).reduce(0) { try $0 + run(operation, $1) }, repetitions)
    }
  }

  private func run(_ operation: CountedOperation, _ repetition: Int) throws -> Int {
    let width = count / 4
    let low = repetition * 7919 % (count - width + 1)
    switch operation {
    case .countQuery: return try query(low..<low + width).count()
    case .sumQuery: return try query(low..<low + width).sum { $0["n"].as(Int.self) }
    case .topQuery: return try topNumbers.rows().reduce(0, +)
    case .topQueryOfDocuments: return Self.size(try top.all())
    default: return Self.size(try documents.query().where { $0["n"] == low }.all())
    }
  }

  private static func size(_ documents: [Document]) -> Int {
    documents.reduce(0) { $0 + $1.id.utf8.count }
  }

  private func query(_ range: Range<Int>) -> Query<Document> {
    documents.query().where { $0["n"] >= range.lowerBound && $0["n"] < range.upperBound }
  }
}
