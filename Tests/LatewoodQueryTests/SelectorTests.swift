import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Selectors find the right documents, and invalid ones are refused with a reason.
@Suite struct SelectorTests {
  private func matches(_ selector: String, _ document: String) throws -> Bool {
    let predicate = try MangoParser.predicate(json: selector)
    return try FleeceBody(JSON.fleece(from: document)).withRoot { root throws(FleeceError) in
      try predicate.matches(root)
    }
  }

  @Test(arguments: [
    (#"{}"#, #"{"a": 1}"#, true),
    (#"{"a": 1}"#, #"{"a": 1.0}"#, true),
    (#"{"a": {"$eq": 9007199254740993}}"#, #"{"a": 9007199254740992}"#, false),
    (#"{"a.b": 2}"#, #"{"a": {"b": 2}}"#, true),
    (#"{"a": {"b": 2}}"#, #"{"a": {"b": 2, "c": 3}}"#, true),
    (#"{"a": {}}"#, #"{"a": {}}"#, true),
    (#"{"a": {}}"#, #"{"a": {"b": 1}}"#, false),
    (#"{"a\\.b": 2}"#, #"{"a.b": 2}"#, true),
    (#"{"a.1": "y"}"#, #"{"a": ["x", "y"]}"#, true),
    (#"{"a[1]": "y"}"#, #"{"a": ["x", "y"]}"#, true),
    (#"{"a": {"$gt": 1, "$lt": 3}}"#, #"{"a": 2}"#, true),
    (#"{"a": {"$gt": 1}}"#, #"{"a": "text"}"#, true),
    (#"{"a": {"$ne": 1}}"#, #"{}"#, false),
    (#"{"$not": {"a": 1}}"#, #"{}"#, false),
    (#"{"$not": {"a": {"$size": 1}}}"#, #"{}"#, false),
    (#"{"a": {"$exists": false}}"#, #"{}"#, true),
    (#"{"a.b": {"$exists": false}}"#, #"{"a": 1}"#, false),
    (#"{"a": {"$in": [1, 2]}}"#, #"{"a": [5, 2]}"#, true),
    (#"{"a": {"$nin": [1, 2]}}"#, #"{"a": [5, 3]}"#, true),
    (#"{"a": {"$all": [1, 2]}}"#, #"{"a": [2, 3, 1]}"#, true),
    (#"{"a": {"$all": [[1, 2]]}}"#, #"{"a": [1, 2]}"#, true),
    (#"{"a": {"$elemMatch": {"b": {"$gt": 1}}}}"#, #"{"a": [{"b": 1}, {"b": 2}]}"#, true),
    (#"{"a": {"$allMatch": {"b": {"$gt": 1}}}}"#, #"{"a": [{"b": 1}, {"b": 2}]}"#, false),
    (#"{"a": {"$allMatch": {"$gt": 1}}}"#, #"{"a": []}"#, false),
    (#"{"a": {"$keyMapMatch": {"$eq": "x"}}}"#, #"{"a": {"x": 0}}"#, true),
    (#"{"a": {"$mod": [4, -1]}}"#, #"{"a": -5}"#, true),
    (#"{"a": {"$mod": [-1, 0]}}"#, #"{"a": -9223372036854775808}"#, true),
    (#"{"a": {"$mod": [2, 1]}}"#, #"{"a": 1.5}"#, false),
    (#"{"a": {"$regex": "^b.d$"}}"#, #"{"a": "bad"}"#, true),
    (#"{"a": {"$beginsWith": "é"}}"#, #"{"a": "été"}"#, true),
    (#"{"$nor": [{"a": 1}, {"a": 2}]}"#, #"{"a": 3}"#, true),
  ])
  func `a selector matches as documented for CouchDB`(
    selector: String, document: String, expected: Bool
  ) throws {
    #expect(try matches(selector, document) == expected)
  }

  @Test(arguments: [
    (#"[1]"#, "a selector is an object", ""),
    (#"{"a": {"$gtt": 1}}"#, "did you mean $gte?", "a.$gtt"),
    (#"{"$or": {"a": 1}}"#, "$or takes an array of conditions", "$or"),
    (#"{"$or": [{"a": 1}, {"b": {"$exists": 1}}]}"#, "true or false", "$or.1.b.$exists"),
    (#"{"a": {"$size": -1}}"#, "from 0", "a.$size"),
    (#"{"a": {"$mod": [0, 1]}}"#, "does not divide by 0", "a.$mod"),
    (#"{"a": {"$type": "text"}}"#, "\"string\"", "a.$type"),
    (#"{"a": {"$regex": "("}}"#, "not a regular expression", "a.$regex"),
    (#"{"a..b": 1}"#, "a name is empty", ""),
    (#"{"$text": 1}"#, "takes a text", "$text"),
    (#"{"a": }"#, "line 1, column 7", ""),
  ])
  func `an invalid selector is refused with its reason and location`(
    selector: String, reason: String, place: String
  ) throws {
    let error = #expect(throws: QueryError.self) { try MangoParser.predicate(json: selector) }
    #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
    #expect(error?.place == place)
  }

  @Test(arguments: [98, 99, 100, 101, 500])
  func `conditions nested beyond the limit are refused`(depth: Int) throws {
    let text =
      String(repeating: #"{"$not":"#, count: depth) + #"{"a":1}"# + String(repeating: "}", count: depth)
    if depth < MangoParser.depthLimit - 1 {
      _ = try MangoParser.predicate(json: text)
    } else {
      let error = #expect(throws: QueryError.self) { try MangoParser.predicate(json: text) }
      #expect(error?.kind == .tooDeep)
    }
  }

  @Test func `recorded answers of CouchDB are reproduced, except for the order of letters`() throws {
    guard let text = try Oracles.read("couchdb_selectors.json") else { return }
    let root = try FleeceBody(JSON.fleece(from: text)).root
    let documents = try Oracles.elements(of: root, "docs")
    let queries = try Oracles.elements(of: root, "queries")
    #expect(documents.count == 200 && queries.count == 100)
    var different: [String] = []
    for query in queries {
      guard let selector = try query.element(for: "selector") else { continue }
      let predicate = try MangoParser.predicate(of: selector)
      let expected = try Oracles.elements(of: query, "ids").compactMap { try $0.string() }
      let found = try documents.filter { document in
        try document.withValue { value throws(FleeceError) in try predicate.matches(value) }
      }
      let ids = try found.compactMap { try $0.element(for: "_id")?.string() }
      if ids != expected { different.append(String(decoding: try selector.json(), as: UTF8.self)) }
    }
    // ICU sorts letters of both cases side by side; bytes sort all capitals first. And integral
    // numbers are integers here, while CouchDB remembers which were written with a point.
    #expect(different == Oracles.knownDifferences)
  }
}

/// The answers of a real CouchDB, from `shared/oracles` next to the repository.
enum Oracles {
  /// CouchDB finds `female` and `male` before `Virginia`, and no remainder for a number that was
  /// written as 10000000000.0.
  static let knownDifferences = [#"{"gender":{"$lte":"Virginia"}}"#, #"{"n.m":{"$mod":[3,1]}}"#]

  static func read(_ name: String) throws -> [UInt8]? {
    for place in ["..", "../.."] {
      let path = Repository.path("\(place)/shared/oracles/\(name)")
      if try FileVolume().exists(path) { return try Repository.read(FileVolume(), path) }
    }
    print("shared/oracles/\(name) is not there; the test is skipped")
    return nil
  }

  static func elements(of element: FleeceElement, _ name: String) throws -> [FleeceElement] {
    guard let array = try element.element(for: name), let count = try array.count() else { return [] }
    return try (0..<count).compactMap { try array.element(at: $0) }
  }
}
