import LatewoodFleece
import Testing

@testable import LatewoodQuery

/// Conditions on words in selectors, and before they are bound to an index.
@Suite struct TextConditionTests {
  private func condition(_ json: String) throws -> TextCondition? {
    if case .text(let condition) = try MangoParser.predicate(json: json) { condition } else { nil }
  }

  @Test func `the $text operator takes a query, or an object with a query or words`() throws {
    let short = try #require(try condition(#"{"$text":"blue sky"}"#))
    #expect(short.index == "" && short.words == .query("blue sky"))
    let named = try #require(try condition(#"{"$text":{"index":"by text","query":"title:sky"}}"#))
    #expect(named.index == "by text" && named.words == .query("title:sky"))
    let words = try #require(try condition(#"{"$text":{"words":"a \" b","any":true}}"#))
    #expect(words.words == .words("a \" b", any: true, lastIsPrefix: false))
    #expect(try MangoParser.predicate(json: #"{"$or":[{"$not":{"$text":"x"}},{"n":1}]}"#).hasText)
  }

  @Test(arguments: [
    #"{"$text":1}"#, #"{"$text":{}}"#, #"{"$text":{"query":"x","words":"y"}}"#, #"{"$text":{"index":"a"}}"#,
    #"{"$text":{"query":"x","other":1}}"#, #"{"$text":"x AND"}"#, #"{"title":{"$text":"x"}}"#,
    #"{"list":{"$elemMatch":{"$text":"x"}}}"#, #"{"list":{"$allMatch":{"$and":[{"$text":"x"}]}}}"#,
  ])
  func `any other $text is refused`(json: String) {
    #expect(throws: QueryError.self) { try MangoParser.predicate(json: json) }
  }

  @Test func `a condition of an index and a filter of a replication cannot be on words`() throws {
    let predicate = try MangoParser.predicate(json: #"{"$text":"x"}"#)
    #expect(throws: QueryError.self) { try predicate.selector() }
    #expect(throws: QueryError.self) {
      try IndexDefinition([IndexDefinition.Part(FieldPath("a"))], where: predicate)
    }
    #expect(throws: QueryError.self) {
      try MangoParser.predicateWithoutText(json: #"{"$nor":[{"$text":"x"}]}"#)
    }
  }

  @Test func `a condition that is not bound to an index is an error, not a result`() throws {
    let predicate = try MangoParser.predicate(json: #"{"$text":"x"}"#)
    let body = try FleeceBody(JSON.fleece(from: #"{"text":"x"}"#))
    #expect(throws: FleeceError.self) {
      try body.withRoot { (root) throws(FleeceError) in try predicate.matches(root) }
    }
  }

  @Test func `a bound condition finds words by the rules of its definition`() throws {
    let definition = try TextDefinition([TextDefinition.Field(parsing: "text^2")])
    let body = try FleeceBody(JSON.fleece(from: #"{"text":"Über den Wolken","other":"Meer"}"#))
    for (query, isMatch) in [("uber", true), ("WOLKEN den", true), ("meer", false), ("wolk*", true)] {
      var condition = TextCondition(index: "i", .query(query))
      condition.search = try TextSearch(condition.words, in: "i", definition)
      let predicate = Predicate.all([.text(condition)])
      let found = try body.withRoot { (root) throws(FleeceError) in try predicate.matches(root) }
      #expect(found == isMatch, "\(query)")
    }
    #expect(throws: QueryError.self) { try TextSearch(.query("other:x"), in: "i", definition) }
  }
}
