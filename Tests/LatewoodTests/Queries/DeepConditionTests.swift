import Foundation
import LatewoodFleece
import LatewoodQuery
import LatewoodTestSupport
import Testing

@testable import Latewood

/// Conditions that a program makes in a loop, on the small stack that threads have on some systems.
@Suite struct DeepConditionTests {
  private func filled() throws -> DocumentCollection {
    let collection = try Database.inMemory().defaultCollection
    for number in 0..<4 {
      try collection.save(MutableDocument(id: "d\(number)", json: #"{"n":\#(number),"t":[[[1]]]}"#))
    }
    return collection
  }

  private static let count = 20_000
  private let field = QueryDocument<Document>()

  @Test func `any number of conditions is joined by one operator`() throws {
    let collection = try filled()
    let (field, count) = (field, DeepConditionTests.count)
    try onSmallStack {
      let forward = (1..<count).reduce(field["n"] == 1) { $0 || field["n"] == $1 + 1 }
      let backward = (1..<count).reduce(field["n"] == 1) { (field["n"] == $1 + 1) || $0 }
      let every = (0..<count).reduce(field["n"] >= 1) { $0 && field["n"] > -$1 }
      let both = forward || backward || every
      #expect(try collection.query().where { _ in forward }.documentIDs() == ["d1", "d2", "d3"])
      #expect(try collection.query().where { _ in backward }.documentIDs() == ["d1", "d2", "d3"])
      #expect(try collection.query().where { _ in every }.documentIDs() == ["d1", "d2", "d3"])
      #expect(try collection.query().where { _ in !both }.documentIDs() == ["d0"])
      #expect(try collection.query().where { _ in forward }.explain().description.isEmpty == false)
      let query = (0..<count).reduce(collection.query()) { query, number in
        query.where { $0["n"] != number + 2 }
      }
      #expect(try query.documentIDs() == ["d0", "d1"])
      // With an index, all of them are planned.
      try collection.createIndex("n", on: ["n"])
      #expect(try collection.query().where { _ in forward }.count() == 3)
      #expect(try collection.query().where { _ in every && forward }.count() == 3)
      #expect(try query.count() == 2)
    }
  }

  @Test func `conditions inside each other are 100 levels deep at most`() throws {
    let collection = try filled()
    let field = field
    try onSmallStack {
      func alternating(_ levels: Int) -> QueryCondition {
        (1..<levels).reduce(field["n"] == 1) {
          $1 % 3 == 0 ? !$0 : $1 % 3 == 1 ? $0 || field["n"] == 2 : $0 && field["n"] < 5
        }
      }
      func inside(_ levels: Int) -> QueryCondition {
        (1..<levels).reduce(AnyQueryField(.success(.root)) == 1) { inner, _ in
          AnyQueryField(.success(.root)).contains { _ in inner }
        }
      }
      for condition in [alternating(100), inside(100)] {
        _ = try collection.query().where { _ in condition }.count()
        _ = try collection.query().where { _ in condition }.explain()
      }
      for levels in [101, 102, 1000, DeepConditionTests.count] {
        for condition in [alternating(levels), inside(levels)] {
          let error = #expect(throws: DatabaseError.self) {
            try collection.query().where { condition && $0["n"] == 1 }.all()
          }
          #expect(error?.code == .invalidParameter && error?.description.contains("100 levels") == true)
        }
      }
      // Building and releasing take no stack, however many there are.
      _ = (0..<100_000).reduce(field["n"] == 1) { $0 || field["n"] == $1 }
      // A double negation is none.
      let twice = (0..<DeepConditionTests.count).reduce(field["n"] == 1) { condition, _ in !condition }
      #expect(try collection.query().where { _ in twice }.documentIDs() == ["d1"])
      // What is stored has more levels; what is too deep for that is refused, too.
      try collection.createIndex("deep", on: ["n"], where: { _ in alternating(30) })
      #expect(throws: DatabaseError.self) {
        try collection.createIndex("deeper", on: ["n"], where: { _ in alternating(100) })
      }
    }
  }

  @Test func `joining takes time in proportion to the number of conditions`() throws {
    // Conditions that are joined with others are shared, not copied.
    let most = (0..<50_000).reduce(field["n"] == 1) { $0 || field["n"] == $1 }
    let joined = (0..<10_000).map { most || field["n"] == $0 }
    #expect(joined.count == 10_000)
    guard case .any(let parts) = try joined[9_999].predicate.get() else { return #expect(Bool(false)) }
    #expect(parts.count == 50_002)
  }

  @Test func `an index made from the same condition by an earlier release is the same`() throws {
    // Earlier releases stored conditions in the way in which they were joined.
    let tests = try [1, 2, 3].map {
      LatewoodQuery.Predicate.field(
        FieldPath("n"), .compare(.equal, try Constant(fleece: FleeceEncoder().encode($0))))
    }
    let parts = [IndexDefinition.Part(FieldPath("n"))]
    let nested = try IndexDefinition(parts, where: .any([.any([tests[0], tests[1]]), tests[2]]))
    let flat = try IndexDefinition(parts, where: .any(tests))
    #expect(nested == flat && nested.conditionBytes != flat.conditionBytes)
    #expect(try IndexDefinition(parts, where: .all(tests)) != flat)
    let query = Conjunction(.all([.field(FieldPath("n"), .exists), .any(tests)]))
    #expect(nested.bounds(for: query) != nil)
  }
}
