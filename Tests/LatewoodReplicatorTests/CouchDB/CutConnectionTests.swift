import LatewoodDevice
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodHTTPScripts
import LatewoodSimulation
import Testing

@testable import LatewoodReplicator

/// Replication over HTTP with a collection behind a server, whose connections are cut.
@Suite struct CutConnectionTests {
  private enum Direction: CaseIterable { case push, pull }

  private func fill(_ side: Side) throws {
    for number in 0..<6 { try side.save("doc-\(number)", "{\"n\":\(number)}") }
    try side.save("doc-1", "{\"n\":\"again\"}")
    try side.branch("doc-2", "{\"n\":\"other\"}", from: try side.save("doc-2", "{\"n\":2.5}"))
    try side.delete("doc-3")
    try side.saveBlob("picture", Array(repeating: 7, count: 300))
  }

  /// Replicates in one direction. Returns the status at the end.
  private func run(
    _ direction: Direction, _ here: Side, _ server: ScriptedServer
  ) async throws -> ReplicationStatus {
    let couchDB = try peer(server)
    switch direction {
    case .push: return try await replicate(here.peer, couchDB)
    case .pull: return try await replicate(couchDB, here.peer)
    }
  }

  @Test func `both directions over HTTP transfer all documents, conflicts, deletions and blobs`() async throws
  {
    for direction in Direction.allCases {
      let (here, there) = (try Side(), try Side())
      try fill(direction == .push ? here : there)
      let server = ScriptedServer { await PeerServer(peer: there.peer).answer($0) }
      let status = try await run(direction, here, server)
      #expect(status.failures == 0)
      #expect(try here.contents() == there.contents())
      let second = try await run(direction, here, server)
      #expect(second.written == 0 && second.compared == 0)
      try here.expectSound()
      try there.expectSound()
    }
  }

  /// In each run the first connection is cut once, at another byte. Every 61st byte is enough for a
  /// run of all tests; `LATEWOOD_EVERY_BYTE=1` cuts at each of them.
  @Test func `a connection that is cut anywhere loses nothing and writes nothing twice`() async throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let step = CurrentProcess.environmentVariable("LATEWOOD_EVERY_BYTE") == nil ? 61 : 1
    for direction in Direction.allCases {
      let (source, whole) = (try Side(), try Side())
      try fill(source)
      let here = direction == .push ? source : whole
      let there = direction == .push ? whole : source
      let server = ScriptedServer { await PeerServer(peer: there.peer).answer($0) }
      _ = try await run(direction, here, server)
      let expected = try source.contents()
      let sequence = try await whole.peer.information().lastSequence
      let traffic = server.traffic
      for toServer in [true, false] {
        let length = toServer ? traffic.toServer : traffic.fromServer
        for cut in stride(from: step == 1 ? 0 : random.below(step), to: length, by: step) {
          try await cutOnce(direction, source, at: cut, toServer, expected, sequence, random.replay)
        }
      }
    }
  }

  private func cutOnce(
    _ direction: Direction, _ source: Side, at cut: Int, _ toServer: Bool, _ expected: [String],
    _ sequence: PeerSequence, _ replay: String
  ) async throws {
    let target = try Side()
    let here = direction == .push ? source : target
    let there = direction == .push ? target : source
    let server = ScriptedServer { await PeerServer(peer: there.peer).answer($0) }
    server.cutNext(toServer: toServer ? cut : nil, fromServer: toServer ? nil : cut)
    do {
      _ = try await run(direction, here, server)
    } catch let error as ReplicationError { #expect(error.isTransient, "\(error) \(direction) \(cut)") }
    _ = try await run(direction, here, server)
    let comment: Comment = "\(direction), \(toServer ? "to" : "from") the server, byte \(cut), \(replay)"
    #expect(try target.contents() == expected, comment)
    // A revision that is inserted twice would have moved the sequence.
    #expect(try await target.peer.information().lastSequence == sequence, comment)
  }
}
