import LatewoodConcurrency
import LatewoodDocuments
import LatewoodReplicator

/// The number of attachments that have been opened.
final class CountedContents: Sendable {
  private let opened = Guarded(0)
  var count: Int { opened.withLock { $0 } }
  fileprivate func note() { opened.withLock { $0 += 1 } }
}

private struct CountedContent: AttachmentContent {
  let content: any AttachmentContent
  let contents: CountedContents
  func open() async throws -> any AttachmentReader {
    contents.note()
    return try await content.open()
  }
}

/// A peer that counts the attachments that are read from it.
struct CountingPeer<Base: ReplicationPeer>: ForwardingPeer {
  let base: Base
  private let contents: CountedContents

  init(_ base: Base, _ contents: CountedContents) {
    self.base = base
    self.contents = contents
  }

  func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision] {
    var revisions = try await base.revisions(requests)
    for place in revisions.indices {
      for number in revisions[place].attachments.indices {
        guard let content = revisions[place].attachments[number].content else { continue }
        revisions[place].attachments[number].content = CountedContent(content: content, contents: contents)
      }
    }
    return revisions
  }
}
