import Foundation
import Latewood
import LatewoodConcurrency
import LatewoodReplication
import LatewoodReplicator
import Testing

/// Filters, resolvers, and settings that are refused.
@Suite struct ReplicatorOptionsTests {
  // MARK: Filters

  @Test func `a filter chooses revisions, and another version of it begins at the first change`() async throws
  {
    let sides = try TwoSides()
    for number in 0..<10 { try await sides.here.put("doc-\(number)", ["n": DocumentValue(number)]) }
    func run(_ version: Int, below limit: Int) async throws -> Replicator.Progress {
      let replicator = try sides.replicator(.push) {
        $0.filter = Replicator.Filter("low", version: version) { $0["n"].int ?? 0 < limit }
      }
      return try await replicator.run().pushed
    }
    #expect(try await run(1, below: 3).revisions == 3)
    #expect(try await run(1, below: 5).compared == 0)
    let second = try await run(2, below: 5)
    #expect(second.compared == 10 && second.revisions == 2)
    #expect(try sides.there.count == 5)
  }

  @Test func `a filter sees ids and deletions`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("keep")
    try await sides.here.put("x-x")
    try await sides.here.put("gone")
    try await sides.here.delete("gone")
    let seen = Guarded<Set<String>>([])
    let replicator = try sides.replicator(.push) {
      $0.filter = Replicator.Filter("seen") { document in
        seen.withLock {
          _ = $0.insert("\(document.id) \(document.isDeleted) \(document.revisionID.prefix(2))")
        }
        return !document.isDeleted && document.id == "keep"
      }
    }
    #expect(try await replicator.run().pushed.revisions == 1)
    #expect(seen.withLock { $0 } == ["keep false 1-", "x-x false 1-", "gone true 2-"])
  }

  @Test func `ids and a selector choose documents`() async throws {
    let sides = try TwoSides()
    for (id, city) in [("anna", "Porto"), ("eva", "Lisboa"), ("otto", "Porto")] {
      try await sides.here.put(id, ["city": DocumentValue(city)])
    }
    try await sides.replicator(.push) { $0.documentIDs = ["eva"] }.run()
    #expect(try await sides.there.documentIDs() == ["eva"])
    try await sides.replicator(.push) { $0.selector = #"{"city":"Porto"}"# }.run()
    #expect(try await sides.there.documentIDs() == ["anna", "eva", "otto"])
  }

  @Test func `deletions are pushed unless the options say otherwise`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("anna")
    try await sides.there.put("otto")
    try await sides.replicator(.both).run()
    try await sides.here.delete("anna")
    try await sides.there.delete("otto")
    try await sides.replicator(.both) { $0.pushesDeletions = false }.run()
    #expect(try await sides.there.documentIDs() == ["anna"])
    #expect(try await sides.here.documentIDs() == [])
    try await sides.replicator(.both).run()
    #expect(try await sides.there.documentIDs() == [])
  }

  // MARK: Conflicts

  /// Edits one document on both sides.
  private func conflict(_ sides: TwoSides) async throws {
    try await sides.here.put("anna", ["name": "Anna", "phone": 1])
    try await sides.replicator(.both).run()
    try await sides.here.update("anna") { $0["phone"] = 2 }
    try await sides.there.update("anna") { $0["name"] = "Anna Maria" }
  }

  @Test func `a resolver merges with the common ancestor, and the result is pushed in the same run`()
    async throws
  {
    let sides = try TwoSides()
    try await conflict(sides)
    let replicator = try sides.replicator(.both) {
      $0.conflictResolver = { conflict in
        var merged = conflict.current.toMutable()
        for other in conflict.others {
          for (key, value) in other where conflict.ancestor?[key] != value { merged[key] = value }
        }
        return merged
      }
    }
    #expect(try await replicator.run().failures == [])
    for side in [sides.here, sides.there] {
      let anna = try #require(try await side.document("anna"))
      #expect(anna["name"].string == "Anna Maria" && anna["phone"].int == 2)
      #expect(!anna.hasConflicts)
    }
    #expect(try await sides.here.contents == sides.there.contents)
    let again = try await replicator.run()
    #expect(again.pulled.revisions == 0 && again.pushed.revisions == 0)
  }

  @Test func `a compaction keeps the ancestor that a later conflict is merged with`() async throws {
    let sides = try TwoSides()
    try await sides.here.put("anna", ["name": "Anna", "phone": 1])
    try await sides.replicator(.both).run()
    // Two edits here, so that the parent of the current revision is not the common ancestor.
    try await sides.here.update("anna") { $0["phone"] = 2 }
    try await sides.here.update("anna") { $0["phone"] = 3 }
    try await sides.there.update("anna") { $0["name"] = "Anna Maria" }
    try await sides.here.database.compact()
    try await sides.there.database.compact()

    let ancestors = Guarded<[Document?]>([])
    try await sides.replicator(.both) {
      $0.conflictResolver = { conflict in
        ancestors.withLock { $0.append(conflict.ancestor) }
        return nil
      }
    }.run()
    let ancestor = try #require(ancestors.withLock { $0 }.first ?? nil)
    #expect(ancestor["name"].string == "Anna" && ancestor["phone"].int == 1)
  }

  @Test func `old content is removed once it has been pushed, or the remote is forgotten`() async throws {
    let sides = try TwoSides()
    func oldContents() async throws -> Int {
      try await sides.here.database.compact()
      return try await sides.here.revisions(of: "anna").count {
        try !$0.isLeaf && sides.here.document("anna", revision: $0.id) != nil
      }
    }
    try await sides.here.put("anna", ["n": 1])
    #expect(try await Replicator.remotes(of: sides.here) == [])
    try await sides.replicator(.push).run()
    let remotes = try await Replicator.remotes(of: sides.here)
    #expect(remotes.count == 1)
    for number in 2...5 { try await sides.here.put("anna", ["n": DocumentValue(number)]) }
    #expect(try await oldContents() == 1)
    try await sides.replicator(.push).run()
    #expect(try await oldContents() == 0)

    try await sides.here.put("anna", ["n": 6])
    #expect(try await oldContents() == 1)
    #expect(try await !Replicator.forget("another", of: sides.here))
    #expect(try await Replicator.forget(remotes[0], of: sides.here))
    #expect(try await oldContents() == 0)
    #expect(try await sides.here.database.verify().faults == [])
  }

  @Test func `the ancestor of an edit that the other side refuses is kept`() async throws {
    let sides = try TwoSides()
    let isRefused = Guarded(false)
    let peer = HookedPeer(sides.there, refuses: { _ in isRefused.withLock { $0 } })
    let replicator = try Replicator(sides.here, with: .peer { peer }, direction: .push)
    try await sides.here.put("anna", ["n": 1])
    let first = try #require(try await sides.here.document("anna")).revisionID
    try await replicator.run()
    try await sides.here.put("anna", ["n": 2])
    isRefused.withLock { $0 = true }
    #expect(try await replicator.run().failures.count == 1)
    try await sides.here.database.compact()
    #expect(try await sides.here.document("anna", revision: first)?["n"].int == 1)

    // An edit that arrives takes its place.
    isRefused.withLock { $0 = false }
    try await sides.here.put("anna", ["n": 3])
    try await replicator.run()
    try await sides.here.database.compact()
    #expect(try await sides.here.document("anna", revision: first) == nil)
  }

  @Test func `a resolver can keep one revision, or leave the conflict`() async throws {
    let sides = try TwoSides()
    try await conflict(sides)
    try await sides.replicator(.pull) { $0.conflictResolver = { _ in nil } }.run()
    #expect(try await sides.here.document("anna")?.hasConflicts == true)
    // The conflict is not new any more, so it takes another edit.
    try await sides.there.update("anna") { $0["name"] = "Anna M." }
    try await sides.replicator(.pull) {
      $0.conflictResolver = { conflict in
        let all = [conflict.current] + conflict.others
        return all.first { $0["name"].string == "Anna M." }?.toMutable()
      }
    }.run()
    let anna = try #require(try await sides.here.document("anna"))
    #expect(!anna.hasConflicts && anna["name"].string == "Anna M." && anna["phone"].int == 1)
    #expect(anna.revisionID == (try await sides.there.document("anna"))?.revisionID)
  }

  @Test func `a resolver that fails leaves the conflict, and is reported`() async throws {
    struct Undecided: Error {}
    let sides = try TwoSides()
    try await conflict(sides)
    let summary = try await sides.replicator(.pull) {
      $0.conflictResolver = { _ in throw Undecided() }
    }.run()
    #expect(summary.pulled.revisions == 1)
    #expect(summary.failures.map(\.kind) == [.unresolved])
    #expect(summary.failures.map(\.id) == ["anna"])
    #expect(try await sides.here.document("anna")?.hasConflicts == true)
  }

  // MARK: Refused settings

  @Test func `settings that cannot be used are refused before anything is sent`() throws {
    let people = try Database.inMemory()["people"]
    func code(
      _ endpoint: Replicator.Endpoint, _ change: (inout Replicator.Options) -> Void = { _ in }
    ) -> ReplicationError.Code? {
      var options = Replicator.Options()
      change(&options)
      return
        (#expect(throws: ReplicationError.self) {
          try Replicator(people, with: endpoint, options: options)
        })?.code
    }
    func couchDB(
      _ text: String, _ credentials: Replicator.Credentials? = nil, _ headers: [String: String] = [:]
    ) throws -> Replicator.Endpoint {
      .couchDB(try #require(URL(string: text)), credentials: credentials, headers: headers)
    }
    let other = Replicator.Endpoint.collection(try Database.inMemory()["people"])
    _ = try Replicator(people, with: couchDB("https://localhost/people"))
    #expect(code(.collection(people)) == .invalidParameter)
    #expect(code(try couchDB("ftp://localhost/people")) == .unsupported)
    for text in ["http://localhost:5984", "http://localhost:5984/", "people", "http://localhost/a?b=c"] {
      #expect(code(try couchDB(text)) == .invalidParameter, "\(text)")
    }
    let url = "http://localhost/people"
    #expect(code(try couchDB(url, .basic("a:b", "c"))) == .invalidParameter)
    #expect(code(try couchDB(url, .bearer("a\r\nHost: b"))) == .invalidParameter)
    #expect(code(try couchDB(url, .bearer("a"), ["authorization": "b"])) == .invalidParameter)
    #expect(code(try couchDB(url, nil, ["Content-Length": "1"])) == .invalidParameter)
    #expect(code(try couchDB(url, nil, ["X-A": "a\nb"])) == .invalidParameter)
    #expect(code(other) { $0.batchSize = 0 } == .invalidParameter)
    #expect(code(other) { $0.batchSize = 10_001 } == .invalidParameter)
    #expect(code(other) { $0.parallelism = 0 } == .invalidParameter)
    #expect(code(other) { $0.parallelism = 65 } == .invalidParameter)
    #expect(code(other) { $0.retryLimit = -1 } == .invalidParameter)
    #expect(code(other) { $0.selector = "{" } == .invalidParameter)
    #expect(code(other) { $0.filter = Replicator.Filter("") { _ in true } } == .invalidParameter)
    #expect(throws: ReplicationError.self) { try Replicator([]) }
    _ = try Replicator(people, with: couchDB(url, .password("a", "b"), ["X-A": "b"]))
  }

  @Test func `connection options that cannot be honoured are refused before anything is sent`() throws {
    let people = try Database.inMemory()["people"]
    let changes: [(String, (inout Replicator.ConnectionOptions) -> Void)] = [
      ("proxies", { $0.setProxy(host: "localhost", port: 3128) }),
      ("pinned certificates", { $0.pinnedCertificates = [Data([0x30])] }),
      ("client certificates", { $0.setClientCertificate(Data([0x30]), password: "hunter2") }),
    ]
    for (name, change) in changes {
      var connection = Replicator.ConnectionOptions()
      change(&connection)
      var text = ""
      dump(connection, to: &text)
      #expect(!text.contains("hunter2"))
      for scheme in ["http", "https"] {
        let url = try #require(URL(string: "\(scheme)://localhost/people"))
        func replicator() throws -> Replicator {
          try Replicator(people, with: .couchDB(url, connection: connection))
        }
        #if canImport(Security)
          if scheme == "https", name != "client certificates" { _ = try replicator() }
        #else
          let error = #expect(throws: ReplicationError.self) { try replicator() }
          #expect(error?.code == .unsupported)
          #expect(scheme == "http" || error?.message.contains(name) == true)
        #endif
      }
    }
    let url = try #require(URL(string: "https://localhost/people"))
    _ = try Replicator(people, with: .couchDB(url, connection: Replicator.ConnectionOptions()))
  }

  @Test func `credentials are not shown`() throws {
    let url = try #require(URL(string: "http://localhost/people"))
    for credentials: Replicator.Credentials in [
      .password("anna", "hunter2"), .basic("anna", "hunter2"), .bearer("hunter2"),
    ] {
      #expect("\(credentials)" == "credentials")
      var text = ""
      dump(credentials, to: &text)
      dump(Replicator.Endpoint.couchDB(url, credentials: credentials), to: &text)
      #expect(!text.contains("hunter2") && !text.contains("anna"))
    }
    let inURL = try #require(URL(string: "ftp://anna:hunter2@localhost/people"))
    let people = try Database.inMemory()["people"]
    let error = #expect(throws: ReplicationError.self) {
      try Replicator(people, with: .couchDB(inURL))
    }
    #expect(error.map { "\($0)".contains("hunter2") } == false)
  }
}
