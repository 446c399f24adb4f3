import Latewood
import LatewoodSimulation
import Testing

/// A single column, which has a separate reading path, contains the same values as that column
/// among others, and as the documents.
@Suite struct ColumnTests {
  private static let values = [
    "null", "true", "false", "0", "-1", "1.0", "2.5", "9007199254740993", "18446744073709551615",
    "\"\"", "\"text\"", "\"zero \\u0000 inside\"", "[1]", "{\"b\":1}",
  ]

  /// Returns a form of rows that can be compared; the error's type if they cannot be read.
  private func shown<Value>(_ rows: () throws -> [Value]) -> String {
    do { return try rows().map { "\($0)" }.joined(separator: ",") } catch { return "\(type(of: error))" }
  }

  /// Returns the column after checking that all ways of reading it agree.
  private func column<Column: Codable & Sendable>(
    _ query: Query<Document>, _ type: Column.Type, _ replay: String
  ) -> String {
    let alone = shown { try query.select { $0["a"].as(type) }.rows() }
    let among = shown { try query.select { ($0["a"].as(type), $0.documentID) }.rows().map(\.0) }
    let turned = shown { try query.select { ($0.documentID, $0["a"].as(type)) }.rows().map(\.1) }
    #expect(alone == among && alone == turned, "\(type) \(replay)")
    return alone
  }

  private func columns(_ query: Query<Document>, _ replay: String) -> [String] {
    [query, query.where { $0["a"] >= 0 && $0["a"] < 5 }, query.limit(3, offset: 2)].flatMap { query in
      [
        column(query, Int.self, replay), column(query, Int?.self, replay),
        column(query, UInt64?.self, replay), column(query, Double.self, replay),
        column(query, String.self, replay), column(query, String?.self, replay),
        column(query, Bool?.self, replay),
      ]
    }
  }

  @Test func `every way of reading a column returns the same values`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<30 {
      let database = try Database.inMemory()
      let collection = try database.defaultCollection
      for number in 0..<random.below(12) {
        let json = random.oneIn(8) ? "{}" : "{\"a\":\(random.pick(Self.values))}"
        try collection.save(MutableDocument(id: "document \(number)", json: json), .lastWriteWins)
      }
      let query = collection.query().sorted { $0["a"] }
      let turned = collection.query().sorted { $0["a"].descending }
      let before = columns(query, random.replay) + columns(turned, random.replay)
      try collection.createIndex("a", on: [random.oneIn(2) ? .ascending("a") : .descending("a")])
      #expect(columns(query, random.replay) + columns(turned, random.replay) == before, "\(random.replay)")
    }
  }

  @Test func `a column in index order stays in order around truncated keys`() throws {
    let database = try Database.inMemory()
    let notes = try database.defaultCollection
    // The keys of every tenth are cut, and are put in order by their documents.
    try database.inBatch {
      for number in 0..<200 {
        let text = number % 10 == 3 ? String(repeating: "x", count: 2000) : "short"
        try notes.save(MutableDocument(id: "\(number)", ["n": .init(number), "text": .init(text)]))
      }
    }
    try notes.createIndex("by n", on: ["n", "text"])
    let query = notes.query().sorted { ($0["n"], $0["text"]) }
    #expect(try "\(query.explain())".contains("by n"))
    #expect(try query.select { $0["n"].as(Int.self) }.rows() == Array(0..<200))
    #expect(try query.limit(50, offset: 5).select { $0["n"].as(Int.self) }.rows() == Array(5..<55))
  }
}
