/// The stored record of a document: its place in the feed, its expiry, its revisions, and the body
/// of the winner if that is short.
///
/// ```
/// format 1 byte | flags 1 byte | sequence varint | expiry varint, if flagged |
///          length of the body varint, if flagged | branch | branch | ... | body, if flagged
/// branch   generation of its leaf, varint | the leaf | its parent | ...
/// revision flags 1 byte | digest length 1 byte, if flagged, else 20 | digest |
///          place of its body varint, if flagged |
///          number of the revision that this one follows from, varint, if it is in a branch before
/// ```
///
/// The winner's branch comes first, so that its facts are in the first bytes. A branch ends with a
/// root, or with a revision whose parent is part of an earlier branch. Revisions are numbered from
/// 0 in the order in which they are stored.
///
/// A short body is stored in the record while its revision is both the winner and the latest change
/// of the document. It is then addressed by the sequence of the record, through which the feed
/// finds the document. The next change moves it to the keyspace of bodies.
package struct DocumentRecord: Sendable, Equatable {
  /// The sequence of its last change in the feed of its collection.
  package var sequence: UInt64
  /// The time at which the document expires, in seconds since 1970-01-01 00:00 UTC; nil for never,
  /// and if it is deleted.
  package var expiry: UInt64?
  package var tree: RevisionTree
  /// The body of the winner if it is in the record; its place is then `sequence`. Not empty.
  package var body: [UInt8]?

  package init(sequence: UInt64, expiry: UInt64? = nil, tree: RevisionTree, body: [UInt8]? = nil) {
    self.sequence = sequence
    self.expiry = expiry
    self.tree = tree
    self.body = body
  }

  /// The maximum length, in bytes, of a body in a record. With the usual number of revisions, the
  /// record is still short enough to be copied into the tree.
  package static let bodyLimit = 1024

  /// The first bytes of a record: all that most reads need.
  package struct Head: Sendable, Equatable {
    package var sequence: UInt64
    package var expiry: UInt64?
    package var winner: RevisionID
    package var isDeleted: Bool
    /// The place of the winner's body; 0 if it has none here.
    package var body: UInt64
    /// Whether there are undeleted leaves beside the winner.
    package var hasConflicts: Bool
    /// The length, in bytes, of the winner's body if it stands at the end of the record; else 0.
    package var bodyLength = 0

    /// Returns the winner's body if it stands in the record.
    ///
    /// - Parameter record: the record that this is the head of.
    @inline(__always) func body(in record: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
      guard bodyLength > 0, bodyLength <= record.count else { return nil }
      return UnsafeRawBufferPointer(rebasing: record[(record.count &- bodyLength)...])
    }

    func isExpired(at now: @autoclosure () -> UInt64) -> Bool {
      guard let expiry, !isDeleted else { return false }
      return expiry <= now()
    }
  }

  /// Whether the document has expired at a time, in seconds since 1970. A tombstone never expires,
  /// because it must be replicated.
  func isExpired(at now: @autoclosure () -> UInt64) -> Bool {
    guard let expiry, expiry <= now() else { return false }
    return tree.winner?.isDeleted == false
  }

  static let format: UInt8 = 1

  /// On disk: never renumbered.
  enum Flag {
    static let hasConflicts: UInt8 = 1
    static let expires: UInt8 = 2
    /// The body of the winner stands at the end of the record.
    static let holdsBody: UInt8 = 4
    static let all: UInt8 = 7
  }

  /// The flags of a revision. On disk: never renumbered.
  enum NodeFlag {
    static let isDeleted: UInt8 = 1
    static let hasBody: UInt8 = 2
    /// The length of the digest follows, because it is not 20.
    static let hasLength: UInt8 = 4
    /// The branch ends here: the parent is not known or no longer kept.
    static let isRoot: UInt8 = 8
    /// The branch ends here: the number of the parent follows.
    static let joins: UInt8 = 16
    /// The digest is a text.
    static let isText: UInt8 = 32
    static let all: UInt8 = 63
  }
}
