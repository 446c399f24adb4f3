import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// The fast path for reading a selector, compared with the path through Fleece.
@Suite struct ShortSelectorTests {
  private static let names = [
    "a", "b", "n", "year", "_id", "address.city", "a[0]", "grüße", "$gt", "", "x y",
  ]
  private static let values = [
    "0", "7", "-7", "-0", "007", "999999999999999999", "1000000000000000000", "-999999999999999999",
    "9223372036854775807", "9223372036854775808", "1.5", "1e3", "true", "false", "null", "tru", "\"\"",
    "\"x\"",
    "\"grüße\"", #""a\nb""#, "\"\u{1}\"", "[1]", "{}", "\"" + String(repeating: "z", count: 255) + "\"",
    "\"" + String(repeating: "z", count: 256) + "\"", "", "-", "\"",
  ]
  private static let operators = ["$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$ge", "$exists", "eq"]
  private static let spaces = ["", "", "", " ", "\n", "\t", "\r", " \n "]

  private func selector(_ random: inout SeededRandom) -> String {
    func space() -> String { random.pick(Self.spaces) }
    // Most are sound.
    func value() -> String {
      random.pick(random.oneIn(4) ? Self.values : ["0", "7", "-12", "true", "false", "\"x\"", "\"grüße\""])
    }
    func condition() -> String {
      if random.oneIn(2) { return value() }
      return members(random.oneIn(4) ? Self.operators : ["$gte", "$lt", "$eq"], value)
    }
    func members(_ names: [String], _ value: () -> String) -> String {
      let list = (0..<random.below(4)).map { _ in
        let name = random.pick(names)
        return space() + "\"\(name)\"" + space() + ":" + space() + value() + space()
      }
      return "{" + space() + list.joined(separator: random.oneIn(40) ? "" : ",") + "}"
    }
    let text = members(random.oneIn(4) ? Self.names : ["a", "b", "c", "n"], condition)
    return space() + text + (random.oneIn(40) ? "x" : space())
  }

  /// The bytes in which a predicate is stored, or the error.
  private func outcome(_ make: () throws(QueryError) -> Predicate) -> Result<[UInt8], QueryError> {
    do throws(QueryError) { return .success(try make().selector()) } catch { return .failure(error) }
  }

  @Test func `a selector means the same to the short and the full parser`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var shorts = 0
    for _ in 0..<Effort.count(20_000, low: 3000) {
      let text = selector(&random)
      let long = outcome { () throws(QueryError) in try MangoParser.longPredicate(json: text) }
      let any = outcome { () throws(QueryError) in try MangoParser.predicate(json: text) }
      switch (long, any) {
      case (.success(let left), .success(let right)): #expect(left == right, "\(text)")
      case (.failure(let left), .failure(let right)): #expect("\(left)" == "\(right)", "\(text)")
      default: Issue.record("\(text) is read in one way only: \(long), \(any)")
      }
      if ShortSelector.predicate(json: text) != nil { shorts += 1 }
    }
    #expect(shorts > 500)
  }

  @Test(arguments: [
    #"{}"#, #"{"n":1}"#, #"{"n":-1}"#, #"{"n":{"$gte":100,"$lt":200}}"#,
    #"{ "type" : "book", "sold": true }"#,
    #"{"address.city":"Ulm"}"#, #"{"b":1,"a":{"$ne":0}}"#,
  ])
  func `common selectors are read by the short parser`(text: String) {
    #expect(ShortSelector.predicate(json: text) != nil)
  }

  @Test(arguments: [
    #"{"n":1.0}"#, #"{"n":01}"#, #"{"n":-0}"#, #"{"n":1,"n":2}"#, #"{"n":{}}"#, #"{"n":null}"#,
    #"{"$or":[]}"#,
    #"{"n":{"$in":[1]}}"#, #"{"n":"\u0041"}"#, #"{"n":1}x"#, #"{"n":1"#, #"{"n":1,}"#, #"["n"]"#, "1", "",
    #"{"n":1000000000000000000}"#, #"{"n":{"m":1}}"#, #"{"n":{"$gt":1,"$gt":2}}"#, #"{"a\\.b":1}"#,
  ])
  func `all other selectors are left to the full parser`(text: String) {
    #expect(ShortSelector.predicate(json: text) == nil)
  }
}
