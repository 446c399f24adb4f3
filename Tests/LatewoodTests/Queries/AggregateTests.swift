import Latewood
import LatewoodSimulation
import Testing

/// Aggregates and rows of queries, compared with the same operations on an array, with and without
/// indexes.
@Suite struct AggregateTests {
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

  private func fill(_ random: inout SeededRandom, _ count: Int) throws -> [Sale] {
    let list = (0..<count).map { _ in
      Sale(
        shop: random.pick(["", "a\u{0}b", "Porto", "Évora", "porto"]), amount: random.below(40) - 10,
        weight: random.oneIn(3) ? nil : Double(random.below(9)) / 2, isPaid: random.oneIn(2))
    }
    let sales = sales
    try database.inBatch {
      for (number, sale) in list.enumerated() { try sales.save(sale, as: "sale \(1000 + number)") }
    }
    return list
  }

  private func compare(_ list: [Sale], _ low: Int, _ high: Int, _ note: String) throws {
    let query = sales.query(Sale.self).where { $0.amount >= low && $0.amount < high }
    let found = list.filter { $0.amount >= low && $0.amount < high }
    let weights = found.compactMap(\.weight)
    let note = Comment(rawValue: note)
    #expect(try query.exists() == !found.isEmpty, note)
    #expect(try query.sum { $0.amount } == found.reduce(0) { $0 + $1.amount }, note)
    #expect(try query.sum { $0.weight } == weights.reduce(0, +), note)
    let mean = weights.isEmpty ? nil : weights.reduce(0, +) / Double(weights.count)
    #expect(try query.average { $0.weight } == mean, note)
    #expect(try query.min { $0.amount } == found.map(\.amount).min(), note)
    #expect(try query.max { $0.amount } == found.map(\.amount).max(), note)
    #expect(try query.min { $0.weight } == weights.min(), note)
    #expect(try query.max { $0.weight } == weights.max(), note)
    #expect(try Set(query.distinct { $0.shop }) == Set(found.map(\.shop)), note)
    #expect(try query.sorted { $0.amount }.distinct { $0.amount } == Set(found.map(\.amount)).sorted(), note)
    let groups = Dictionary(grouping: found, by: \.shop)
    #expect(try query.grouped { $0.shop }.count() == groups.mapValues(\.count), note)
    #expect(
      try query.grouped { $0.shop }.sum { $0.amount } == groups.mapValues { $0.reduce(0) { $0 + $1.amount } },
      note)
    #expect(
      try query.grouped { $0.shop }.max { $0.amount } == groups.compactMapValues { $0.map(\.amount).max() },
      note)
    let page = Array(found.dropFirst(2).prefix(5))
    let limited = query.limit(5, offset: 2)
    #expect(try limited.sum { $0.amount } == page.reduce(0) { $0 + $1.amount }, note)
    #expect(try limited.max { $0.amount } == page.map(\.amount).max(), note)
    #expect(try limited.min { $0.weight } == page.compactMap(\.weight).min(), note)
    let rows = try query.select { ($0.shop, $0.amount, $0.weight, $0.documentID) }.rows()
    #expect(rows.map(\.0) == found.map(\.shop) && rows.map(\.1) == found.map(\.amount), note)
    #expect(rows.map(\.2) == found.map(\.weight), note)
    #expect(try rows.map(\.3) == query.documentIDs(), note)
    let ordered = try query.sorted { $0.amount.descending }.select { ($0.amount, $0.isPaid) }.limited(7)
    let expected = found.enumerated()
      .sorted {
        $0.element.amount == $1.element.amount ? $0.offset < $1.offset : $0.element.amount > $1.element.amount
      }
      .prefix(7).map(\.element)
    #expect(ordered.map(\.0) == expected.map(\.amount) && ordered.map(\.1) == expected.map(\.isPaid), note)
  }

  @Test func `aggregates and rows equal those of an array, with any indexes`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let list = try fill(&random, 150)
    let indexes: [(String, [IndexField])] = [
      ("none", []), ("amount", ["amount"]), ("weight", [.descending("weight")]),
      ("wide", [.descending("amount"), "shop", .descending("weight"), "isPaid"]),
      ("wider", ["amount", .descending("shop"), "weight", "isPaid"]),
    ]
    for (name, fields) in indexes {
      if !fields.isEmpty { try sales.createIndex(name, on: fields) }
      for _ in 0..<6 {
        let low = random.below(45) - 12
        try compare(list, low, low + random.below(45), "\(name) \(random.replay)")
      }
      // A range that contains a single value.
      try compare(list, 3, 4, "\(name) \(random.replay)")
    }
  }

  @Test func `sums are right for repeated queries, and after each commit`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var list = try fill(&random, 2000)
    try sales.createIndex("amount", on: ["amount", "weight"])
    for _ in 0..<6 {
      for _ in 0..<25 {
        let low = random.below(30) - 12
        let high = low + 5 + random.below(45)
        let query = sales.query(Sale.self).where { $0.amount >= low && $0.amount < high }
        let found = list.filter { $0.amount >= low && $0.amount < high }
        let sum = found.reduce(0) { $0 + $1.amount }
        #expect(try query.sum { $0.amount } == sum, "\(random.replay)")
        let mean = found.isEmpty ? nil : Double(sum) / Double(found.count)
        #expect(try query.average { $0.amount } == mean, "\(random.replay)")
        #expect(try query.sum { $0.weight } == found.compactMap(\.weight).reduce(0, +), "\(random.replay)")
        let least = sales.query(Sale.self).where { $0.amount > low }
        let above = list.filter { $0.amount > low }
        #expect(try least.sum { $0.amount } == above.reduce(0) { $0 + $1.amount }, "\(random.replay)")
        let limited = query.sorted { $0.amount }.limit(700, offset: 3)
        let page = found.map(\.amount).sorted().dropFirst(3).prefix(700)
        #expect(try limited.sum { $0.amount } == page.reduce(0, +), "\(random.replay)")
      }
      let number = random.below(list.count)
      list[number].amount = random.below(40) - 10
      try sales.save(list[number], as: "sale \(1000 + number)", .lastWriteWins)
    }
  }

  @Test func `an index with all selected fields is covering, and the plan reports it`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    _ = try fill(&random, 200)
    try sales.createIndex("amount", on: ["amount", "shop"])
    let query = sales.query(Sale.self).where { $0.amount == 5 }
    #expect(try query.select { ($0.shop, $0.amount) }.explain().isCovering)
    #expect(try "\(query.select { ($0.shop, $0.documentID) }.explain())".contains("covering"))
    #expect(try !query.select { ($0.shop, $0.weight) }.explain().isCovering)
    #expect(try !query.explain().isCovering)
    #expect(try !query.where { $0.isPaid == true }.select { ($0.shop, $0.amount) }.explain().isCovering)
    let cheapest = sales.query(Sale.self).sorted { ($0.amount, $0.shop) }.limit(3)
    #expect(try cheapest.select { ($0.shop, $0.amount) }.explain().isCovering)
  }

  @Test func `a value of the wrong type for its column is refused, with and without an index`() throws {
    try sales.save(MutableDocument(id: "half", json: #"{"amount":1.5,"shop":"x"}"#))
    try sales.save(MutableDocument(id: "large", json: #"{"amount":2,"big":9223372036854775807}"#))
    try sales.save(MutableDocument(id: "larger", json: #"{"amount":3,"big":1}"#))
    for index in ["", "amount", "big"] {
      if !index.isEmpty { try sales.createIndex(index, on: [.ascending(index)]) }
      let query = sales.query().sorted { $0["amount"] }
      #expect(throws: DecodingError.self) { try query.sum { $0["amount"].as(Int.self) } }
      #expect(throws: DecodingError.self) { try query.select { $0["amount"].as(Int.self) }.rows() }
      #expect(throws: DecodingError.self) { try query.min { $0["amount"].as(Int.self) } }
      #expect(throws: DecodingError.self) { try query.distinct { $0["shop"].as(String.self) } }
      #expect(try query.sum { $0["amount"].as(Double.self) } == 6.5)
      #expect(try query.max { $0["big"].as(Int.self) } == .max)
      #expect(throws: DatabaseError.self) { try query.sum { $0["big"].as(Int?.self) } }
      #expect(try query.select { $0["big"].as(Int?.self) }.rows() == [nil, .max, 1])
    }
  }

  @Test func `a sum that fits is exact, with any index and in any order`() throws {
    for (number, amount) in [Int.min, 5, -1, .max, 1, -5, 1 << 62].enumerated() {
      try sales.save(MutableDocument(id: "\(number)", ["amount": amount, "kind": number / 3]))
    }
    for index in ["", "ascending", "descending"] {
      let isAscending = index == "ascending"
      if !index.isEmpty {
        try sales.createIndex(index, on: [isAscending ? .ascending("amount") : .descending("amount")])
      }
      let query = sales.query().where { $0["amount"] >= Int.min }
      #expect(try query.sum { $0["amount"].as(Int.self) } == (1 << 62) - 1, "\(index)")
      for (kind, sum) in [Int.min + 4, .max - 4].enumerated() {
        let some = query.where { $0["kind"] == kind }
        #expect(try some.sum { $0["amount"].as(Int.self) } == sum, "\(index) \(kind)")
      }
      let low = sales.query().where { $0["amount"] < 0 }
      #expect(throws: DatabaseError.self) { try low.sum { $0["amount"].as(Int.self) } }
      let all = try query.sum { $0["amount"].as(Double.self) }
      #expect(all == 0x1p62, "\(index)")
      if !index.isEmpty { try sales.dropIndex(index) }
    }
  }

  @Test func `aggregates in a batch include its own changes`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let list = try fill(&random, 20)
    try sales.createIndex("amount", on: ["amount"])
    let query = sales.query(Sale.self)
    let sales = sales
    try database.inBatch {
      try sales.save(Sale(shop: "new", amount: 1000, weight: nil, isPaid: true), as: "zz")
      #expect(try query.max { $0.amount } == 1000)
      #expect(try query.sum { $0.amount } == list.reduce(1000) { $0 + $1.amount })
    }
  }
}

extension RowQuery {
  fileprivate func limited(_ count: Int) throws -> [(repeat each Column)] { Array(try rows().prefix(count)) }
}
