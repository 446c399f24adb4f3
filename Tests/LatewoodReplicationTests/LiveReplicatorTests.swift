import Foundation
import Latewood
import LatewoodHTTP
import LatewoodReplication
import LatewoodURLSession
import Testing

/// The public replicator with a running CouchDB: see `LiveCouchDBTests`.
@Suite(.enabled(if: LiveDatabase.server != nil, "LATEWOOD_COUCHDB does not name a server"), .serialized)
struct LiveReplicatorTests {
  @Test func `two databases meet in a CouchDB, with blobs, conflicts and deletions`() async throws {
    try await LiveDatabase.with { endpoint in
      let sides = try TwoSides()
      let content = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      let picture = try await sides.here.database.saveBlob(content, contentType: "image/png")
      try await sides.here.put(
        "anna", ["picture": picture.documentValue, "data": Data([4, 5]).documentValue])
      for number in 0..<700 { try await sides.here.put("doc-\(number)", ["n": DocumentValue(number)]) }
      func run(_ collection: DocumentCollection) async throws -> Replicator.Summary {
        try await Replicator(collection, with: endpoint).run()
      }
      #expect(try await run(sides.here).pushed.revisions == 701)
      #expect(try await run(sides.there).pulled.revisions == 701)
      #expect(try await sides.here.contents == sides.there.contents)
      let arrived = try #require(try await sides.there.document("anna")?.blob("picture"))
      #expect(try await sides.there.database.content(of: arrived).data() == content)
      try await sides.here.put("doc-1", ["at": "here"])
      try await sides.there.put("doc-1", ["at": "there"])
      try await sides.there.delete("doc-2")
      _ = (try await run(sides.here), try await run(sides.there), try await run(sides.here))
      #expect(try await sides.here.contents == sides.there.contents)
      #expect(try await sides.here.document("doc-1")?.hasConflicts == true)
      #expect(try await !sides.here.contains("doc-2"))
      let idle = try await run(sides.here)
      #expect(idle.pulled.compared == 0 && idle.pushed.compared == 0)
    }
  }

  @Test func `a continuous replicator follows both sides`() async throws {
    try await LiveDatabase.with { endpoint in
      let sides = try TwoSides()
      let replicators = try [sides.here, sides.there].map {
        try Replicator($0, with: endpoint, mode: .continuous)
      }
      for replicator in replicators { replicator.start() }
      try await sides.here.put("from here")
      try await until { try await sides.there.contains("from here") }
      try await sides.there.put("from there")
      try await until { try await sides.here.contains("from there") }
      for replicator in replicators { await replicator.stop() }
    }
  }

  @Test func `wrong credentials and a missing database are errors`() async throws {
    let server = try #require(LiveDatabase.server)
    let people = try Database.inMemory()["people"]
    let url = server.url.appending(path: "latewood-\(UUID().uuidString.lowercased())")
    for (credentials, code): (Replicator.Credentials, ReplicationError.Code) in [
      (.password("anna", "hunter2"), .unauthorized), (.basic("anna", "hunter2"), .unauthorized),
      (server.credentials, .notFound),
    ] {
      let replicator = try Replicator(people, with: .couchDB(url, credentials: credentials))
      let error = await #expect(throws: ReplicationError.self) { try await replicator.run() }
      #expect(error?.code == code)
      #expect(error.map { "\($0)".contains("hunter2") } == false)
    }
  }
}

enum LiveDatabase {
  /// The server without the credentials, and these.
  static let server: (url: URL, credentials: Replicator.Credentials)? = {
    guard let text = ProcessInfo.processInfo.environment["LATEWOOD_COUCHDB"],
      var parts = URLComponents(string: text)
    else { return nil }
    let credentials = Replicator.Credentials.password(parts.user ?? "", parts.password ?? "")
    parts.user = nil
    parts.password = nil
    return parts.url.map { ($0, credentials) }
  }()

  /// Calls `body` with a database that does not exist yet, and deletes it afterwards.
  static func with(_ body: (Replicator.Endpoint) async throws -> Void) async throws {
    guard let server else { return }
    let url = server.url.appending(path: "latewood-\(UUID().uuidString.lowercased())")
    let result: Result<Void, any Error>
    do {
      result = .success(
        try await body(.couchDB(url, credentials: server.credentials, createsDatabase: true)))
    } catch { result = .failure(error) }
    try await delete(url.lastPathComponent)
    try result.get()
  }

  private static func delete(_ name: String) async throws {
    let url = try HTTPURL(parsing: ProcessInfo.processInfo.environment["LATEWOOD_COUCHDB"] ?? "")
    let client = URLSessionTransport(origin: url.origin)
    var fields = HTTPFields()
    if let credentials = url.credentials { fields.add("Authorization", credentials.authorization) }
    try await client.send(HTTPRequest("DELETE", HTTPTarget([name]), fields: fields)).close()
    client.close()
  }
}
