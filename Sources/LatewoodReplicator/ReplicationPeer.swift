import LatewoodDocuments

/// One side of a replication: a collection of this process, a database of a CouchDB server, or a
/// recording.
///
/// A replication reads the changes of its source, asks its target which of their revisions are
/// missing, reads these from the source, inserts them into the target, and stores the sequence that
/// it has reached in a checkpoint on both. Each call corresponds to one request of CouchDB's API:
///
/// | call | CouchDB |
/// | --- | --- |
/// | `information` | `GET /db` |
/// | `changes` | `GET` or `POST /db/_changes?style=all_docs` |
/// | `missing` | `POST /db/_revs_diff` |
/// | `revisions` | `POST /db/_bulk_get?revs=true&latest=true`, or `GET /db/id?open_revs=…` |
/// | `insert` | `POST /db/_bulk_docs` with `new_edits: false`, or `PUT /db/id?new_edits=false` |
/// | `ensureDurable` | `POST /db/_ensure_full_commit` |
/// | `localDocument`, `putLocalDocument` | `GET` and `PUT /db/_local/id` |
///
/// Every call throws ``ReplicationError``, or `CancellationError` if its task is cancelled. A call
/// that failed may still have had its effect, so all calls can safely be repeated. A peer does not
/// repeat a call itself, except where the protocol requires another form of the same request.
///
/// Thread safety: all calls from any task; several may run at the same time.
package protocol ReplicationPeer: Sendable {
  /// Returns the identity of the database and its last sequence.
  func information() async throws -> PeerInformation

  /// Begins a feed of changes.
  func changes(_ request: ChangesRequest) async throws -> any ChangeFeed

  /// Returns the given revisions that are not in the database.
  ///
  /// - Parameter asked: documents, each at most once, with at least one revision each.
  /// - Returns: the documents of which at least one revision is missing, in any order.
  func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions]

  /// Returns revisions with their bodies and histories.
  ///
  /// - Parameter requests: documents, each at most once.
  /// - Returns: the requested revisions, in any order. A revision that has been replaced since is
  ///   represented by the leaves that follow from it. Revisions that do not exist any more are left
  ///   out.
  func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision]

  /// Inserts revisions with their histories, without conflicts and in any order. A revision that is
  /// already in the database is not an error.
  ///
  /// The call throws only if the peer could not report an outcome for every revision. A refused
  /// revision does not affect the others.
  ///
  /// - Returns: one outcome for each revision, in the order of `revisions`.
  func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome]

  /// Tells the peer which database is on the other side, before any revision is transferred. A
  /// peer that tracks the revisions of other databases needs it for the revisions it receives.
  func begin(with other: PeerInformation)

  /// Notes that the other side has all revisions up to a sequence of this peer.
  ///
  /// - Parameter refused: revisions that the other side has refused.
  func acknowledge(through place: PeerSequence, refused: [DocumentRevisions]) async throws

  /// Makes all revisions inserted so far survive a power failure.
  ///
  /// - Returns: the epoch of the database, as in ``PeerInformation/epoch``.
  func ensureDurable() async throws -> String?

  /// Returns a local document, which holds a checkpoint; nil if it does not exist.
  func localDocument(_ id: String) async throws -> LocalDocument?

  /// Stores a local document.
  ///
  /// - Parameters:
  ///   - id: the id without `_local/`.
  ///   - body: the members as Fleece.
  ///   - revision: the revision that was read; nil if it did not exist.
  /// - Returns: the new revision.
  /// - Throws: ``ReplicationError`` `conflict` if the document has another revision.
  func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String
}

/// A peer that does not track the revisions of other databases.
extension ReplicationPeer {
  package func begin(with other: PeerInformation) {}
  package func acknowledge(through place: PeerSequence, refused: [DocumentRevisions]) async throws {}
}

/// A peer that passes on the calls to another one, except those that it implements itself.
package protocol ForwardingPeer: ReplicationPeer {
  associatedtype Base: ReplicationPeer
  var base: Base { get }
}

extension ForwardingPeer {
  package func information() async throws -> PeerInformation { try await base.information() }
  package func changes(_ request: ChangesRequest) async throws -> any ChangeFeed {
    try await base.changes(request)
  }
  package func missing(_ asked: [DocumentRevisions]) async throws -> [MissingRevisions] {
    try await base.missing(asked)
  }
  package func revisions(_ requests: [RevisionRequest]) async throws -> [PeerRevision] {
    try await base.revisions(requests)
  }
  package func insert(_ revisions: [PeerRevision]) async throws -> [InsertOutcome] {
    try await base.insert(revisions)
  }
  package func begin(with other: PeerInformation) { base.begin(with: other) }
  package func acknowledge(through place: PeerSequence, refused: [DocumentRevisions]) async throws {
    try await base.acknowledge(through: place, refused: refused)
  }
  package func ensureDurable() async throws -> String? { try await base.ensureDurable() }
  package func localDocument(_ id: String) async throws -> LocalDocument? {
    try await base.localDocument(id)
  }
  package func putLocalDocument(_ id: String, body: [UInt8], revision: String?) async throws -> String {
    try await base.putLocalDocument(id, body: body, revision: revision)
  }
}

/// The position of a change in the feed of a peer: opaque text that only the peer that issued it
/// can interpret. A peer that numbers its changes uses decimal digits.
package struct PeerSequence: Sendable, Hashable, CustomStringConvertible {
  package let text: String

  package init(_ text: String) { self.text = text }

  /// The position before the first change.
  package static let start = PeerSequence("0")

  package var description: String { text }
}

/// The information about a database that a replication starts with.
package struct PeerInformation: Sendable, Equatable {
  /// The text that distinguishes this database from all others, as a part of the replication id.
  /// For a CouchDB database, this is its URL without credentials; for a collection, its identity.
  package var identity: String
  /// The identity that a copy of the database shares with the original; nil if copies do not
  /// continue at the sequence of the original.
  package var lineage: String?
  /// The sequence of the latest change.
  package var lastSequence: PeerSequence
  /// A text that changes when the database may have lost writes that were not durable, such as
  /// CouchDB's `instance_start_time`; nil if the peer has none.
  package var epoch: String?

  package init(identity: String, lineage: String? = nil, lastSequence: PeerSequence, epoch: String? = nil) {
    self.identity = identity
    self.lineage = lineage
    self.lastSequence = lastSequence
    self.epoch = epoch
  }
}

// MARK: - Changes

/// The changes that a replication requests.
package struct ChangesRequest: Sendable {
  /// The sequence after which to begin.
  package var since: PeerSequence
  /// Whether the feed waits for changes at its end, instead of ending there.
  package var isContinuous = false
  /// The ids of the documents to list; nil for all.
  package var ids: [String]?
  /// A Mango selector in JSON, which revisions must match to be listed; nil for all.
  package var selector: [UInt8]?

  package init(since: PeerSequence) { self.since = since }
}

/// A feed of changes that is being read.
///
/// Thread safety: one task at a time calls `next`; `close` may be called by another.
package protocol ChangeFeed: Sendable {
  /// Returns the next changes.
  ///
  /// A continuous feed waits for the first change, then returns all available ones. A feed that is
  /// not continuous returns nil after its last page. A page may be empty: then only the sequence
  /// has advanced, or a continuous feed has sent a heartbeat.
  ///
  /// - Parameter limit: the greatest number of changes to return, at least 1.
  func next(limit: Int) async throws -> ChangesPage?

  /// Ends the feed and releases its resources, such as its connection. A waiting call of `next`
  /// returns nil or throws. Idempotent.
  func close()
}

/// A part of a feed.
package struct ChangesPage: Sendable, Equatable {
  /// The changes in the order of the feed. A document may occur again in a later page.
  package var changes: [PeerChange]
  /// The sequence after this page, from which a feed can continue.
  package var last: PeerSequence
  /// The number of changes after this page; nil if the peer does not know it.
  package var pending: Int?

  package init(_ changes: [PeerChange], last: PeerSequence, pending: Int? = nil) {
    self.changes = changes
    self.last = last
    self.pending = pending
  }
}

/// One document in a feed, at its latest change.
package struct PeerChange: Sendable, Equatable {
  package var sequence: PeerSequence
  package var id: String
  /// All leaves, deleted ones too, the winner first.
  package var leaves: [RevisionID]
  /// Whether the winner is a tombstone.
  package var isDeleted: Bool

  package init(_ sequence: PeerSequence, id: String, leaves: [RevisionID], isDeleted: Bool = false) {
    self.sequence = sequence
    self.id = id
    self.leaves = leaves
    self.isDeleted = isDeleted
  }
}

// MARK: - Revisions

/// A revision that is transferred from one peer to another.
package struct PeerRevision: Sendable {
  package var id: String
  /// The revision and its ancestors, newest first, each followed by its parent, back to the oldest
  /// known one. At least one.
  package var history: [RevisionID]
  package var isDeleted: Bool
  /// The members in canonical Fleece, without those that the protocol reserves (`_id`, `_rev`,
  /// `_attachments` and so on). Blobs in it are dictionaries with `@type: blob`, and the bytes of
  /// each are among the attachments.
  package var body: [UInt8]
  /// The attachments, by name.
  package var attachments: [PeerAttachment]

  package init(
    id: String, history: [RevisionID], isDeleted: Bool = false, body: [UInt8],
    attachments: [PeerAttachment] = []
  ) {
    self.id = id
    self.history = history
    self.isDeleted = isDeleted
    self.body = body
    self.attachments = attachments
  }
}

/// A named attachment of a revision, with CouchDB's information about it.
package struct PeerAttachment: Sendable {
  package var name: String
  package var contentType: String
  /// The source's digest with its algorithm: `md5-…` or `sha256-…`, in base64. Nil if the source
  /// has none.
  package var digest: String?
  /// The length in bytes, decoded; nil if unknown.
  package var length: UInt64?
  /// The generation of the revision that added this content under this name.
  package var revisionPosition: UInt64
  /// The content coding of the stored bytes, such as `gzip`, with their length; nil if they are
  /// stored plain.
  package var encoding: Encoding?
  /// The bytes, decoded. Nil for a stub: one of the ancestors that the request named has the same
  /// attachment.
  package var content: (any AttachmentContent)?
  /// The digest of the blob in the body that has these bytes; nil if the attachment is not a blob.
  package var blob: BlobDigest?

  package struct Encoding: Sendable, Equatable {
    package var name: String
    package var length: UInt64?

    package init(name: String, length: UInt64?) {
      self.name = name
      self.length = length
    }
  }

  package init(
    name: String, contentType: String, digest: String? = nil, length: UInt64? = nil,
    revisionPosition: UInt64, encoding: Encoding? = nil, content: (any AttachmentContent)? = nil,
    blob: BlobDigest? = nil
  ) {
    self.name = name
    self.contentType = contentType
    self.digest = digest
    self.length = length
    self.revisionPosition = revisionPosition
    self.encoding = encoding
    self.content = content
    self.blob = blob
  }
}

/// The bytes of an attachment, which the target reads only if it does not have them.
package protocol AttachmentContent: Sendable {
  /// Begins to read the bytes, from the start; several times if necessary.
  func open() async throws -> any AttachmentReader
}

/// A position in the bytes of an attachment. Only `next` requests bytes from the source, and it
/// suspends the task until they arrive.
///
/// Thread safety: one task at a time calls `next`; `close` may be called by another.
package protocol AttachmentReader: Sendable {
  /// Returns the next bytes, at most a mebibyte; nil after the last. Throws if the bytes end early
  /// or do not match their digest.
  func next() async throws -> [UInt8]?

  /// Ends the reading. Idempotent.
  func close()
}

/// Some revisions of a document.
package struct DocumentRevisions: Sendable, Equatable {
  package var id: String
  package var revisions: [RevisionID]

  package init(_ id: String, _ revisions: [RevisionID]) {
    self.id = id
    self.revisions = revisions
  }
}

/// The revisions of a document that a peer does not have.
package struct MissingRevisions: Sendable, Equatable {
  package var id: String
  package var missing: [RevisionID]
  /// Leaves that the peer has and from which the missing revisions may follow, best first.
  package var possibleAncestors: [RevisionID]

  package init(_ id: String, missing: [RevisionID], possibleAncestors: [RevisionID] = []) {
    self.id = id
    self.missing = missing
    self.possibleAncestors = possibleAncestors
  }
}

/// Revisions that a target lacks, for the source.
package struct RevisionRequest: Sendable, Equatable {
  package var id: String
  package var revisions: [RevisionID]
  /// Leaves that the target has: attachments that one of these already has are sent as stubs. If
  /// empty, every attachment is sent with its content.
  package var ancestors: [RevisionID]

  package init(_ id: String, revisions: [RevisionID], ancestors: [RevisionID] = []) {
    self.id = id
    self.revisions = revisions
    self.ancestors = ancestors
  }
}

/// The outcome of inserting a revision.
package enum InsertOutcome: Sendable, Equatable {
  /// The revision is in the database.
  case stored
  /// The peer refuses this revision until the document or the rights change.
  case refused(Refusal)
  /// A stub names an attachment that the peer does not have: the revision must be sent again with
  /// all contents.
  case lacksAttachment

  /// The reason of a refusal.
  package struct Refusal: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
      /// The peer forbids it, as CouchDB's validation functions do (403).
      case forbidden
      /// Inserting it needs other credentials (401).
      case unauthorized
      /// The document or an attachment is too large (413).
      case tooLarge
      /// The id or the body has a form that the peer does not store (400).
      case unacceptable
      /// The peer failed with this document, and may not fail again.
      case failed
    }

    package var kind: Kind
    /// The description in one sentence, without the document's id.
    package var message: String

    package init(_ kind: Kind, _ message: String) {
      self.kind = kind
      self.message = message
    }
  }
}

/// A local document of a peer.
package struct LocalDocument: Sendable, Equatable {
  /// The revision to name when it is replaced.
  package var revision: String
  /// The members as Fleece, without `_id` and `_rev`.
  package var body: [UInt8]

  package init(revision: String, body: [UInt8]) {
    self.revision = revision
    self.body = body
  }
}
