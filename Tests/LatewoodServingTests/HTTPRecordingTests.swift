import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import Testing

@testable import LatewoodServing

/// The answers of a CouchDB, from `shared/oracles` next to the repository.
@Suite struct HTTPRecordingTests {
  @Test func `the service answers as CouchDB did, but for the listed exceptions`() async throws {
    guard let exchanges = try Recording.read() else { return }
    var options = DocumentOptions()
    options.depth = 1000
    let store = try DocumentStore.inMemory(options: options)
    let site = try TestSite()
    var settings = DatabaseService.Settings(
      version: "0.0.0", environment: HTTPRecordingTests.environment())
    settings.users = site.users
    // A feed that waits ends at once: nothing changes while it does.
    settings.sleep = { _ in }
    let service = DatabaseService(store, settings)
    let exceptions = try Recording.exceptions()
    var comparison = AnswerComparison()
    var (equal, unlisted, stale) = (0, [String](), [String]())
    for exchange in exchanges {
      try HTTPRecordingTests.prepare(exchange, service)
      // A write that CouchDB refused for a reason that we do not have must not change the rest.
      if exceptions[exchange.number] != nil, exchange.status >= 400, exchange.request.method != "GET" {
        continue
      }
      var answer = await HTTPRecordingTests.answer(
        try comparison.translated(exchange.request), exchange.auth, service, site.users)
      if let feed = answer.feed, exceptions[exchange.number] == nil {
        while let piece = try await feed.next() { answer.body += piece }
      }
      let difference = try comparison.difference(answer, exchange)
      switch (difference, exceptions[exchange.number]) {
      case (nil, nil): equal += 1
      case (nil, _?): stale.append("\(exchange.number) \(exchange.note)")
      case (_?, _?): break
      case (let difference?, nil):
        unlisted.append("\(exchange.number) [\(exchange.group): \(exchange.note)] \(difference)")
      }
    }
    print("\(equal) of \(exchanges.count) recorded answers are the same; \(exceptions.count) exceptions")
    for line in unlisted { print("differs: \(line)") }
    for line in stale { print("is listed, but the same: \(line)") }
    #expect(unlisted.isEmpty)
    #expect(stale.isEmpty)
    #expect(exchanges.count == 551)
    try store.close()
  }

  /// Answers a request with the credentials that the recorder sent.
  private static func answer(
    _ request: APIRequest, _ auth: String, _ service: DatabaseService, _ users: UserDirectory
  ) async -> APIResponse {
    var request = request
    request.address = "recorder"
    if auth != "none" {
      let password = auth == "admin" ? "secret" : "wrong"
      request.fields.add(
        "Authorization", BasicCredentials(name: "admin", password: password).authorization)
    }
    switch await users.recognize(request.fields, from: request.address, acceptsCookie: true) {
    case .success(let found):
      request.user = found.user
      return await service.answer(request)
    case .failure(let error): return APIResponse(error)
    }
  }

  /// Makes the changes that the recorder made on other connections before an exchange.
  private static func prepare(_ exchange: Exchange, _ service: DatabaseService) throws {
    switch exchange.number {
    // What the function `validate_doc_update` has refused.
    case 214: try purge(["kf", "ku"], service)
    case 233: try purge(["r4", "r5"], service)
    case 290:
      try send("PUT", "/api_all", service)
      for (n, id) in ["a", "b", "B", "c", "d", "e", "10", "9", "%C3%A4"].enumerated() {
        try send("PUT", "/api_all/\(id)", service, "{\"n\":\(n)}")
      }
      try delete("/api_all/d", service)
    case 336:
      try send("PUT", "/api_ch", service)
      for n in 0..<8 {
        try send("PUT", "/api_ch/c\(n)", service, "{\"n\":\(n),\"t\":\"\(n % 2 == 0 ? "a" : "b")\"}")
      }
      try delete("/api_ch/c1", service)
      let conflict = "{\"_rev\":\"1-\(String(repeating: "f", count: 32))\",\"alt\":1}"
      try send("PUT", "/api_ch/c2?new_edits=false", service, conflict)
      let filter = "function(d,r){return d.n % 2 == 1 && d.n >= (r.query.min||0)}"
      try send("PUT", "/api_ch/_design/x", service, "{\"filters\":{\"odd\":\"\(filter)\"}}")
    case 391: try send("PUT", "/api_ch/live1", service, "{\"l\":1}")
    case 392:
      try send("PUT", "/api_ch/live2", service, "{\"l\":2}")
      try send("PUT", "/api_ch/live3", service, "{\"l\":3}")
    case 393:
      try send("PUT", "/api_ch/live4", service, "{\"n\":2}")
      try send("PUT", "/api_ch/live5", service, "{\"n\":3}")
    case 394: try delete("/api_ch/live4", service)
    case 415: try send("PUT", "/api_at", service)
    case 487:
      try send("PUT", "/api_fi", service)
      for n in 0..<12 {
        let id = n < 10 ? "p0\(n)" : "p\(n)"
        let name = n % 2 == 0 ? "anna" : "bert"
        let tags = n % 3 == 1 ? "[\"x\"]" : "[\"x\",\"y\"]"
        let body = "{\"age\":\(20 + n),\"name\":\"\(name)\",\"tags\":\(tags)}"
        try send("PUT", "/api_fi/\(id)", service, body)
      }
    default: break
    }
  }

  /// Random numbers that make ids like those of the recording, which begin with a digit.
  private static func environment() -> Environment {
    let counter = Guarded(UInt64(0x13BC_A413_BBAC_612F))
    return Environment(
      now: { 1_795_341_104_000_000 },
      random: {
        counter.withLock { value in
          value += 1
          return value
        }
      })
  }

  private static func purge(_ ids: [String], _ service: DatabaseService) throws {
    for id in ids {
      let revision = try revision("/api/\(id)", service)
      try send("POST", "/api/_purge", service, "{\"\(id)\":[\"\(revision)\"]}")
    }
  }

  private static func send(
    _ method: String, _ target: String, _ service: DatabaseService, _ body: String = ""
  ) throws {
    let fields = HTTPFields([("Content-Type", "application/json")])
    let answer = service.respond(
      to: APIRequest(method, target, fields: fields, body: Array(body.utf8), user: .everybody))
    try #require((200..<300).contains(answer.status), "\(method) \(target)")
  }

  private static func delete(_ target: String, _ service: DatabaseService) throws {
    try send("DELETE", "\(target)?rev=\(try revision(target, service))", service)
  }

  private static func revision(_ target: String, _ service: DatabaseService) throws -> String {
    let answer = service.respond(to: APIRequest("GET", target, user: .everybody))
    let revision = try FleeceBody(written: JSON.fleece(from: answer.body)).root.element(for: "_rev")?.string()
    return try #require(revision)
  }
}
