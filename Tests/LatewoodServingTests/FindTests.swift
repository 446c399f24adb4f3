import LatewoodFleece
import LatewoodServing
import Testing

@Suite struct FindTests {
  private func filled() throws -> TestService {
    let test = try TestService()
    for n in 0..<10 {
      let age = n == 7 ? "" : ",\"age\":\(n % 3)"
      #expect(try test.send("PUT", "/notes/d\(n)", "{\"n\":\(n)\(age)}").status == 201)
    }
    for n in 0..<3 { #expect(try test.send("PUT", "/notes/_design/x\(n)", "{\"n\":\(n)}").status == 201) }
    return test
  }

  /// Returns the ids of each page of a query.
  private func pages(_ test: TestService, _ query: String, limit: Int) throws -> [[String]] {
    var (bookmark, pages) = ("nil", [[String]]())
    while pages.count < 20 {
      let body = "{\(query),\"limit\":\(limit),\"fields\":[\"_id\"],\"bookmark\":\"\(bookmark)\"}"
      let answer = try test.json("POST", "/notes/_find", body)
      let docs = try #require(try answer.element(for: "docs"))
      let ids = try (0..<(docs.count() ?? 0)).map {
        try docs.element(at: $0)?.element(for: "_id")?.string() ?? ""
      }
      if ids.isEmpty { return pages }
      pages.append(ids)
      bookmark = try #require(try answer.element(for: "bookmark")?.string())
    }
    return pages
  }

  @Test(arguments: [1, 3, 4, 10, 11]) func `pages have each document once, and no design documents`(
    limit: Int
  ) throws {
    let test = try filled()
    let pages = try pages(test, #""selector":{"n":{"$gte":0}}"#, limit: limit)
    #expect(pages.flatMap { $0 } == (0..<10).map { "d\($0)" })
    #expect(pages.dropLast().allSatisfy { $0.count == limit })
  }

  @Test func `a page continues after a document that is gone`() throws {
    let test = try filled()
    let first = try test.json("POST", "/notes/_find", #"{"selector":{},"limit":2}"#)
    let bookmark = try #require(try first.element(for: "bookmark")?.string())
    let revision = try #require(try test.json("GET", "/notes/d1").element(for: "_rev")?.string())
    #expect(try test.send("DELETE", "/notes/d1?rev=\(revision)").status == 200)
    let next = try test.send("POST", "/notes/_find", #"{"selector":{},"limit":1,"bookmark":"\#(bookmark)"}"#)
    #expect(next.text.contains("\"_id\":\"d2\""))
  }

  @Test(arguments: [false, true]) func `an order is that of the field, of the documents that have it`(
    isIndexed: Bool
  ) throws {
    let test = try filled()
    if isIndexed {
      let answer = try test.send("POST", "/notes/_index", #"{"index":{"fields":["age"]},"name":"by age"}"#)
      #expect(answer.text.contains("created"))
      #expect(try test.send("GET", "/notes/_index").text.contains("by age"))
    }
    let pages = try pages(test, #""selector":{},"sort":[{"age":"desc"}]"#, limit: 4)
    #expect(pages.map(\.count) == [4, 4, 1])
    let ids = pages.flatMap { $0 }
    #expect(Set(ids.prefix(3)) == ["d2", "d5", "d8"] && Set(ids.suffix(4)) == ["d0", "d3", "d6", "d9"])
  }

  @Test func `a bookmark of another kind of query is refused`() throws {
    let test = try filled()
    let first = try test.json("POST", "/notes/_find", #"{"selector":{},"limit":1}"#)
    let bookmark = try #require(try first.element(for: "bookmark")?.string())
    let answer = try test.send(
      "POST", "/notes/_find", #"{"selector":{},"sort":["n"],"bookmark":"\#(bookmark)"}"#)
    #expect(answer.status == 400)
    #expect(try answer.error == "invalid_bookmark")
  }
}
