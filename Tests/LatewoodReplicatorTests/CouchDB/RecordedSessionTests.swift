import LatewoodHTTP
import LatewoodHTTPScripts
import Testing

@testable import LatewoodReplicator

/// Sessions of CouchDB 3.5's replicator, replayed against this one.
@Suite struct RecordedSessionTests {
  /// The sessions, with the error that ends them.
  static let sessions: [(String, ReplicationError.Code?)] = [
    // All kinds of documents; without `_session`; a design document without the right to write it.
    ("a", nil), ("c5", nil), ("c8", nil),
    // A checkpoint that the target has lost; a target that was created again; a pull; no
    // checkpoints; a missing source, and a missing target.
    ("b3", nil), ("b4", nil), ("c1", nil), ("c9", nil), ("c6", .notFound), ("c7", .notFound),
    // A selector, and ids.
    ("f1", nil), ("f2", nil),
    // Refusals by a validation function, of the whole database, and of one document for its size.
    ("h1", .unauthorized), ("h2", nil), ("h3", nil), ("h13", .unauthorized), ("h14", .forbidden),
    // 500 and 429 a few times and forever; a conflict of the checkpoint.
    ("h5", nil), ("h6", nil), ("h7", nil), ("h8", .unavailable), ("h9", nil), ("h12", nil),
    // A captive portal; minimal servers; sequences that are numbers; damaged JSON.
    ("h15", .unexpectedAnswer), ("h16", nil), ("h18", .notFound), ("h19", nil), ("h21", .unexpectedAnswer),
    ("h22", nil),
    // Answers that arrive in small pieces.
    ("h10", nil),
  ]

  @Test(arguments: sessions)
  func `a recorded session ends in the same state`(name: String, code: ReplicationError.Code?) async throws {
    let source = try RecordedServer(name, "source")
    let target = try RecordedServer(name, "target")
    let (from, to) = try (peer(source, "source"), peer(target, "target"))
    let setup = setup(of: name)
    let error = await failure { _ = try await replicate(from, to, setup) }
    #expect(error?.code == code)
    #expect(error?.description.contains("secret") != true)
    guard code == nil else { return }
    #expect(target.stored == target.recordedStored)
    #expect(target.asked == target.recordedAsked)
    #expect(!target.asked.isEmpty)
    let again = try await replicate(from, to, setup)
    #expect(again.written == 0)
  }

  /// The settings with which a session was recorded.
  private func setup(of session: String) -> ReplicationSetup {
    var setup = ReplicationSetup.test
    switch session {
    case "c9": setup.usesCheckpoints = false
    case "f1": setup.filter.selector = Array(#"{"type":"a","n":{"$gt":6}}"#.utf8)
    case "f2": setup.filter.ids = ["f01", "f02", "f03", "f19", "nope"]
    default: break
    }
    return setup
  }

  private func peer(_ server: RecordedServer, _ name: String) throws -> CouchDBPeer {
    let url = try HTTPURL(parsing: "http://admin:secret@\(name)/db")
    let scripted = ScriptedServer { server.answer($0) }
    return CouchDBPeer(url, transport: HTTPClient(origin: url.origin, connector: scripted))
  }
}
