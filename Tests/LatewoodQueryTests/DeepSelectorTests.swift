import Foundation
import LatewoodFleece
import LatewoodTestSupport
import Testing

@testable import LatewoodQuery

/// The deepest selectors that are accepted, on the small stack that threads have on some systems.
@Suite struct DeepSelectorTests {
  @Test(arguments: [
    (#"{"$and":["#, "]}"), (#"{"$or":["#, "]}"), (#"{"$nor":["#, "]}"), (#"{"$not":"#, "}"),
    (#"{"a":{"$elemMatch":"#, "}}"), (#"{"$elemMatch":"#, "}"), (#"{"$allMatch":"#, "}"),
    (#"{"$keyMapMatch":"#, "}"), (#"{"a":"#, "}"), (#"{"$and":[{"$or":["#, "]}]}"),
  ]) func `selectors of the greatest depth`(start: String, end: String) throws {
    try onSmallStack {
      var deepest = 0
      for depth in [20, 24, 40, 49, 50, 90, 98, 99, 100, 101, 5000, 100_000] {
        let text =
          String(repeating: start, count: depth) + #"{"$eq":[]}"# + String(repeating: end, count: depth)
        let predicate: LatewoodQuery.Predicate
        do throws(QueryError) { predicate = try MangoParser.predicate(json: text) } catch {
          #expect(error.kind == .tooDeep || error.kind == .invalidSelector)
          continue
        }
        deepest = depth
        // Arrays inside each other as deep as documents can be, so that all levels are tested.
        let levels = FleeceLimits.depth - 1
        let json = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
        for document in [json, #"{"a":\#(json.dropFirst().dropLast())}"#, #"{"a":1}"#] {
          try FleeceBody(JSON.fleece(from: document)).withRoot { root throws(FleeceError) in
            _ = try predicate.matches(root)
            _ = try predicate.negated.matches(root)
          }
        }
        _ = try predicate.selector()
        let index = try IndexDefinition([.init(FieldPath("a"), isEach: true)], where: predicate)
        _ = index.bounds(for: Conjunction(.all([predicate, predicate.flattened])))
        #expect(index == index)
      }
      #expect(deepest >= 20)
    }
  }

  @Test func `values of the greatest depth`() throws {
    try onSmallStack {
      for depth in [FleeceLimits.depth - 4, FleeceLimits.depth + 1, 100_000] {
        let value = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        for text in [#"{"a":\#(value)}"#, #"{"a":{"$gt":\#(value)}}"#, #"{"a":{"$in":[\#(value)]}}"#] {
          let predicate: LatewoodQuery.Predicate
          do throws(QueryError) { predicate = try MangoParser.predicate(json: text) } catch {
            #expect(depth > FleeceLimits.depth)
            continue
          }
          try FleeceBody(JSON.fleece(from: #"{"a":\#(value)}"#)).withRoot { root throws(FleeceError) in
            _ = try predicate.matches(root)
          }
          _ = try predicate.selector()
        }
      }
    }
  }

  @Test(arguments: [
    ("(", ")"), ("NOT ", ""), ("-", ""), ("[", "]"), ("ABS(", ")"), ("{'a':", "}"), ("1 + (", ")"),
    ("CASE WHEN true THEN ", " END"), ("ANY x IN [1] SATISFIES ", " END"), ("a[", "]"), ("a AND (b OR ", ")"),
    ("a.", ""), ("a || ", ""), ("EXISTS ", ""),
  ]) func `statements of any depth are parsed or refused`(start: String, end: String) throws {
    try onSmallStack {
      for depth in [5, 15, 19, 20, 21, 1000, 20_000] {
        let text =
          "SELECT " + String(repeating: start, count: depth) + "a" + String(repeating: end, count: depth)
          + " FROM c"
        do throws(QueryError) {
          let program = try SQLProgram(try SQLStatement(parsing: text))
          _ = "\(program)".count
        } catch {
          #expect([.tooDeep, .tooLarge, .invalidStatement].contains(error.kind), "\(error)")
        }
      }
    }
  }
}
