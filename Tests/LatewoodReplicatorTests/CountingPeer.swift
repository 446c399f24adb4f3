import LatewoodConcurrency
import LatewoodDocuments
import LatewoodReplicator

/// The number of attachments that have been opened.
final class CountedContents: Sendable {
  private let opened = Guarded(0)
  var count: Int { opened.withLock { $0 } }
  fileprivate func note() { opened.withLock { $0 += 1 } }
}

/// A peer that counts the attachments that are read from it.
struct CountingPeer: ReplicationPeer {
  private let peer: any ReplicationPeer
  private let contents: CountedContents

  init(_ peer: any ReplicationPeer, _ contents: CountedContents) {
    self.peer = peer
    self.contents = contents
  }

  private struct Content: AttachmentContent {
    let content: any AttachmentContent
    let contents: CountedContents
    func open() async throws -> any AttachmentReader {
      contents.note()
      return try await content.open()
    }
  }

  func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision] {
    var revisions = try await peer.revisions(requests)
    for place in revisions.indices {
      for number in revisions[place].attachments.indices {
        guard let content = revisions[place].attachments[number].content else { continue }
        revisions[place].attachments[number].content = Content(content: content, contents: contents)
      }
    }
    return revisions
  }

  func information() async throws -> PeerInformation { try await peer.information() }
  func changes(_ request: ChangesRequest) async throws -> any ChangeFeed { try await peer.changes(request) }
  func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions] {
    try await peer.missing(asked)
  }
  func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    try await peer.insert(revisions)
  }
  func ensureDurable() async throws -> String? { try await peer.ensureDurable() }
  func localDocument(_ id: String) async throws -> LocalDocument? { try await peer.localDocument(id) }
  func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String {
    try await peer.putLocalDocument(id, body: body, revision: revision)
  }
}
