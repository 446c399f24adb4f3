import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodServing
import Testing

@Suite struct ChangesFeedTests {
  private func feed(_ test: TestService, _ query: String) throws -> ChangesFeed {
    try #require(try test.send("GET", "/notes/_changes?\(query)").feed)
  }

  private func ids(_ text: [UInt8]) throws -> [String] {
    let rows = try FleeceBody(written: JSON.fleece(from: text)).root.element(for: "results")
    var ids: [String] = []
    for index in 0..<(try rows?.count() ?? 0) {
      ids.append(try rows?.element(at: index)?.element(for: "id")?.string() ?? "")
    }
    return ids
  }

  @Test func `a long poll ends with the first change`() async throws {
    let test = try TestService()
    #expect(try test.send("PUT", "/notes/old", "{}").status == 201)
    let feed = try feed(test, "feed=longpoll&since=now")
    async let answer = feed.whole()
    #expect(try test.send("PUT", "/notes/new", "{}").status == 201)
    #expect(try ids(await answer) == ["new"])
    #expect(try ids(await self.feed(test, "feed=longpoll").whole()) == ["old", "new"])
  }

  @Test func `a long poll waits until a change passes its filter`() async throws {
    let test = try TestService()
    let feed = try feed(test, "feed=longpoll&filter=_doc_ids&doc_ids=%5B%22b%22%5D")
    async let answer = feed.whole()
    #expect(try test.send("PUT", "/notes/a", "{}").status == 201)
    #expect(try test.send("PUT", "/notes/b", "{}").status == 201)
    #expect(try ids(await answer) == ["b"])
  }

  @Test func `a continuous feed has a line for each change, until the database is gone`() async throws {
    let test = try TestService()
    let feed = try feed(test, "feed=continuous")
    for n in 0..<20 {
      async let piece = feed.next()
      #expect(try test.send("PUT", "/notes/d\(n)", "{}").status == 201)
      let line = String(decoding: try #require(try await piece), as: UTF8.self)
      #expect(line.contains("\"id\":\"d\(n)\"") && line.hasSuffix("}\n"), "\(line)")
    }
    async let end = feed.next()
    #expect(try test.send("DELETE", "/notes").status == 200)
    #expect(String(decoding: try #require(try await end), as: UTF8.self).contains("last_seq"))
    #expect(try await feed.next() == nil)
  }

  @Test func `a feed has many rows in several pieces, each row once`() async throws {
    let test = try TestService()
    let docs = (0..<2500).map { "{\"_id\":\"d\($0)\"}" }.joined(separator: ",")
    #expect(try test.send("POST", "/notes/_bulk_docs", "{\"docs\":[\(docs)]}").status == 201)
    #expect(try ids(await feed(test, "feed=longpoll").whole()) == (0..<2500).map { "d\($0)" })
    #expect(try ids(await feed(test, "feed=longpoll&limit=1500").whole()) == (0..<1500).map { "d\($0)" })
    #expect(try ids(await feed(test, "feed=longpoll&limit=0").whole()) == [])
  }

  @Test func `a feed sends heartbeats, or ends`() async throws {
    let test = try TestService { _ in }
    let beating = try feed(test, "feed=continuous&heartbeat=1")
    for _ in 0..<3 { #expect(try await beating.next() == Array("\n".utf8)) }
    let ending = try feed(test, "feed=continuous&timeout=1")
    #expect(String(decoding: try #require(try await ending.next()), as: UTF8.self).contains("\"pending\":0"))
    #expect(try await ending.next() == nil)
  }

  @Test func `a client that goes away ends its feed`() async throws {
    let test = try TestService()
    let feed = try feed(test, "feed=continuous")
    let reader = Task { try await feed.next() }
    reader.cancel()
    await #expect(throws: (any Error).self) { try await reader.value }
  }
}

extension ChangesFeed {
  /// Returns all pieces.
  fileprivate func whole() async throws -> [UInt8] {
    var bytes: [UInt8] = []
    while let piece = try await next() { bytes += piece }
    return bytes
  }
}
