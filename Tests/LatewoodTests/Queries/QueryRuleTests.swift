import Latewood
import Testing

/// Queries compare strings by one rule, return values of any kind, and know ids without an index.
@Suite struct QueryRuleTests {
  struct Sale: Codable, Sendable, Equatable {
    var shop: String
    var amount: Int
    var weight: Double?
    var isPaid: Bool
  }

  private let database: Database
  private let sales: DocumentCollection

  init() throws {
    database = try Database.inMemory()
    sales = try database.createCollection("sales")
  }

  private func fill(_ count: Int) throws -> [Sale] {
    let list = (0..<count).map { number in
      Sale(
        shop: "s\(number % 3)", amount: number * 7 % 40, weight: number % 3 == 0 ? nil : Double(number) / 2,
        isPaid: number % 2 == 0)
    }
    let sales = sales
    try database.inBatch {
      for (number, sale) in list.enumerated() { try sales.save(sale, as: "sale \(1000 + number)") }
    }
    return list
  }

  @Test(arguments: [false, true])
  func `strings of groups and distinct values are compared by their bytes`(isIndexed: Bool) throws {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let shops = [composed, decomposed, composed, "z"]
    if isIndexed { try sales.createIndex("by shop", on: ["shop"]) }
    for (number, shop) in shops.enumerated() {
      try sales.save(Sale(shop: shop, amount: number, weight: nil, isPaid: true), as: "s\(number)")
    }
    let query = sales.query(Sale.self)
    func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }
    #expect(try bytes(query.sorted { $0.amount }.distinct { $0.shop }) == bytes([composed, decomposed, "z"]))
    #expect(try bytes(query.distinct { $0.shop }) == bytes([composed, decomposed, "z"]))
    #expect(try query.distinct { $0["shop"].as(String?.self) }.count == 3)
    #expect(try query.where { $0.shop == composed }.count() == 2)
    let rows = try database.query("SELECT shop, COUNT(*) AS n FROM sales GROUP BY shop").rows()
    #expect(rows.count == 3)
    // No dictionary can have both.
    let error = #expect(throws: DatabaseError.self) { try query.grouped { $0.shop }.count() }
    #expect(error?.code == .invalidParameter && error?.description.contains("SQL++") == true)
    #expect(throws: DatabaseError.self) { try query.grouped { $0.shop }.sum { $0.amount } }
    #expect(try query.where { $0.shop != decomposed }.grouped { $0.shop }.count() == [composed: 2, "z": 1])
    let greatest = try query.grouped { $0.isPaid }.max { $0.shop }[true]
    let least = try query.where { $0.shop != "z" }.grouped { $0.isPaid }.min { $0.shop }[true]
    #expect(greatest == "z" && least.map { Array($0.utf8) } == Array(decomposed.utf8))
  }

  @Test func `rows of SELECT RAW are values`() throws {
    let list = try fill(20)
    let query = try database.query("SELECT RAW amount FROM sales")
    #expect(try query.rows(as: Int.self) == list.map(\.amount))
    #expect(try query.rows().map { $0.int } == list.map { $0.amount })
    let weights = try database.query("SELECT VALUE weight FROM sales").rows(as: Double?.self)
    #expect(weights == list.map(\.weight))
    #expect(
      try database.query("SELECT DISTINCT RAW isPaid FROM sales ORDER BY isPaid").rows(as: Bool.self) == [
        false, true,
      ])
  }

  @Test func `ids and numbers of documents need no index`() throws {
    _ = try fill(50)
    let query = sales.query(Sale.self)
    #expect(try query.count() == 50)
    #expect(try query.max { $0.documentID } == "sale 1049" && query.min { $0.documentID } == "sale 1000")
    let two = query.where { $0.documentID.isIn(["sale 1030", "sale 1020", "none"]) }
    #expect(try two.documentIDs() == ["sale 1020", "sale 1030"] && two.count() == 2)
    #expect(try "\(two.explain())" == "ids: 2 documents in 3 ranges")
    let last = query.sorted { $0.documentID.descending }.limit(2)
    #expect(try last.documentIDs() == ["sale 1049", "sale 1048"])
    #expect(try !last.explain().sorts)
  }
}
