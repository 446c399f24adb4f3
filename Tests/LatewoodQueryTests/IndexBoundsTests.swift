import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// The ranges derived from conditions, compared with matching the conditions against values.
@Suite struct IndexBoundsTests {
  private static let selectors = [
    #"{"a":1}"#, #"{"a":{"$gt":1}}"#, #"{"a":{"$gte":1,"$lt":"m"}}"#, #"{"a":{"$lte":null}}"#,
    #"{"a":{"$lt":null}}"#, #"{"a":{"$ne":2}}"#, #"{"a":{"$in":[1,"x",null,[1]]}}"#, #"{"a":{"$nin":[1,2]}}"#,
    #"{"a":{"$exists":true}}"#, #"{"a":{"$exists":false}}"#, #"{"a":{"$type":"boolean"}}"#,
    #"{"a":{"$type":"number"}}"#, #"{"a":{"$beginsWith":"x"}}"#, #"{"a":{"$beginsWith":""}}"#,
    #"{"a":{"$regex":"x"}}"#, #"{"a":{"$mod":[2,0]}}"#, #"{"a":{"$size":1}}"#, #"{"a":{"$all":[1]}}"#,
    #"{"a":{"$all":[[1]]}}"#, #"{"a":{"$all":[1,2]}}"#, #"{"a":{"$elemMatch":{"$gt":1,"$lt":3}}}"#,
    #"{"a":{"$elemMatch":{"$eq":1}}}"#, #"{"a":{"$allMatch":{"$gt":0}}}"#,
    #"{"a":{"$elemMatch":{"$gt":1}},"$and":[{"a":{"$elemMatch":{"$lt":2}}}]}"#,
    #"{"$or":[{"a":1},{"a":{"$gt":"x"}}]}"#, #"{"a":{"$not":{"$gt":1}}}"#, #"{"$nor":[{"a":1}]}"#,
    #"{"a":1,"b":2}"#, #"{"a":{"$in":[1,2]},"b":{"$gt":1}}"#, #"{"b":{"$gt":1}}"#,
    #"{"a":{"$elemMatch":{"$eq":1}},"b":1}"#, #"{"a":{"$in":[1,2,3]},"b":{"$in":["x",null,2]}}"#,
  ]

  private static let definitions = [
    ["a"], ["a:desc"], ["a", "b"], ["a:desc", "b"], ["a", "b:desc"], ["a[]"], ["a[]:desc"], ["a[]", "b"],
    ["b", "a[]:desc"], ["b:desc"],
  ]

  private static func value(_ random: inout SeededRandom) -> String {
    let plain = [
      "1", "1.0", "2", "3", "null", "true", "false", "\"\"", "\"x\"", "\"xy\"", "\"m\"", "-5", "1e99",
    ]
    switch random.below(4) {
    case 0: return "[" + (0..<random.below(4)).map { _ in random.pick(plain) }.joined(separator: ",") + "]"
    case 1 where random.oneIn(4): return #"{"x":1}"#
    default: return random.pick(plain)
    }
  }

  private static func document(_ random: inout SeededRandom) -> String {
    var members: [String] = []
    if !random.oneIn(6) { members.append(#""a":"# + value(&random)) }
    if !random.oneIn(6) { members.append(#""b":"# + value(&random)) }
    return "{" + members.joined(separator: ",") + "}"
  }

  @Test(arguments: definitions)
  func `a range has every document that matches, and only those where it claims so`(fields: [String]) throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let definition = try IndexDefinition(fields.map { try IndexDefinition.Part(parsing: $0) })
    var usable = 0
    for selector in Self.selectors {
      let predicate = try MangoParser.predicate(json: selector)
      guard let bounds = definition.bounds(for: Conjunction(predicate)) else { continue }
      usable += 1
      for _ in 0..<60 {
        let json = Self.document(&random)
        try FleeceBody(JSON.fleece(from: json)).withRoot { root throws(FleeceError) in
          let isMatch = try predicate.matches(root)
          var entries: [KeyInterval] = []
          for key in try definition.keys(of: root) {
            entries += bounds.ranges.filter { $0.contains(key.bytes + Array("id".utf8)) }
          }
          let place = "\(fields) \(selector) \(json): \(bounds) \(random.replay)"
          if isMatch { #expect(!entries.isEmpty, "\(place)") }
          if !bounds.mayRepeat { #expect(entries.count <= 1, "\(place)") }
          if bounds.isWhole, !entries.isEmpty, entries.allSatisfy({ !$0.needsCheck }) {
            #expect(isMatch, "\(place)")
          }
        }
      }
    }
    #expect(usable > 0)
  }

  @Test func `a range can answer a comparison without a check, and an index an order`() throws {
    let definition = try IndexDefinition([
      IndexDefinition.Part(parsing: "city"), IndexDefinition.Part(parsing: "age:desc"),
    ])
    func bounds(_ selector: String) throws -> IndexBounds {
      try #require(definition.bounds(for: Conjunction(MangoParser.predicate(json: selector))))
    }
    let porto = try bounds(#"{"city":"Porto","age":{"$gte":30}}"#)
    #expect(porto.isWhole && porto.ranges.count == 1 && !porto.ranges[0].needsCheck)
    #expect(porto.fixedParts == 1 && !porto.isByID)
    #expect(definition.order(for: [(FieldPath("age"), true)], in: porto) == IndexOrder(isReversed: false))
    #expect(definition.order(for: [(FieldPath("age"), false)], in: porto) == IndexOrder(isReversed: true))
    #expect(definition.order(for: [(FieldPath("name"), false)], in: porto) == nil)
    let exact = try bounds(#"{"city":"Porto","age":30}"#)
    #expect(exact.isByID && exact.fixedParts == 2)
    #expect(try bounds(#"{"age":30}"#).isAll)
    let all = try bounds("{}")
    #expect(
      definition.order(for: [(FieldPath("city"), true), (FieldPath("age"), false)], in: all)
        == IndexOrder(isReversed: true))
    #expect(
      definition.order(for: [(FieldPath("city"), true), (FieldPath("age"), true)], in: all) == nil)
  }

  @Test func `a partial index is used only by queries that require its condition`() throws {
    let condition = try MangoParser.predicate(json: #"{"type":"film","year":{"$gt":1900}}"#)
    let definition = try IndexDefinition([IndexDefinition.Part(FieldPath("title"))], where: condition)
    func bounds(_ selector: String) throws -> IndexBounds? {
      definition.bounds(for: Conjunction(try MangoParser.predicate(json: selector)))
    }
    #expect(try bounds(#"{"title":"Ran"}"#) == nil)
    #expect(try bounds(#"{"title":"Ran","type":"film"}"#) == nil)
    let found = try #require(try bounds(#"{"title":"Ran","year":{"$gt":1900},"type":"film"}"#))
    #expect(found.isWhole)
    // The stored form is the same condition.
    let read = try IndexDefinition(definition.parts, condition: definition.conditionBytes, isUnique: false)
    #expect(read == definition)
  }

  @Test func `a stored condition is read back unchanged`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let predicates =
      try Self.selectors.map { try MangoParser.predicate(json: $0) }
      + Self.selectors.map { .not(try MangoParser.predicate(json: $0)) }
      + [.always(false), .always(true), .any([]), .field(FieldPath("$a"), .exists)]
    for predicate in predicates {
      let bytes = try predicate.selector()
      let read = try MangoParser.stored(FleeceBody(bytes).root)
      #expect(try read.selector().count > 0)
      for _ in 0..<60 {
        let json = Self.document(&random)
        try FleeceBody(JSON.fleece(from: json)).withRoot { root throws(FleeceError) in
          #expect(try predicate.matches(root) == read.matches(root), "\(predicate) \(json) \(random.replay)")
        }
      }
    }
    // An operator of stored conditions is not accepted in a selector.
    #expect(throws: QueryError.self) { try MangoParser.predicate(json: #"{"$unless":{"a":1}}"#) }
  }

  @Test(arguments: ["", ":desc"]) func `invalid index fields are refused`(suffix: String) throws {
    for fields in [[], ["a", "a:desc"], ["a[]", "b[]"], Array(repeating: "x", count: 9)] {
      #expect(throws: QueryError.self) {
        try IndexDefinition(
          fields.enumerated().map { index, text in
            try IndexDefinition.Part(parsing: fields.count == 9 ? "\(text)\(index)\(suffix)" : text)
          })
      }
    }
    #expect(throws: QueryError.self) { try IndexDefinition.Part(parsing: "a..b" + suffix) }
  }
}

extension KeyInterval {
  fileprivate func contains(_ key: [UInt8]) -> Bool {
    !key.lexicographicallyPrecedes(low) && (high.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}
