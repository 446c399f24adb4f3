/// A change of a document: its record before and after.
struct RevisionChange {
  let id: String
  /// The record before the change; nil if there was none.
  let old: DocumentRecord?
  /// The record after the change; nil if the document is removed.
  let new: DocumentRecord?
  /// The heads of `old` and `new`.
  let oldHead, newHead: DocumentRecord.Head?
  /// The entry in the feed after the change; nil if the document is removed.
  let entry: SequenceEntry?
  /// The body that the change adds, at the sequence of `new`; nil if it adds none.
  let body: NewBody?
  /// The revision that the change adds; nil if it only removes revisions.
  let added: RevisionID?
  let kind: CollectionChange.Reason
  /// Whether the change was made here, so that unique indexes may refuse it.
  let isLocal: Bool

  @inline(__always) init(
    _ id: String, from old: DocumentRecord?, to new: DocumentRecord?, body: NewBody? = nil,
    added: RevisionID? = nil, _ kind: CollectionChange.Reason, isLocal: Bool = false
  ) {
    self.id = id
    self.old = old
    self.new = new
    oldHead = old?.head
    newHead = new?.head
    entry = newHead.map { SequenceEntry(sequence: $0.sequence, id: id, head: $0) }
    self.body = body
    self.added = added
    self.kind = kind
    self.isLocal = isLocal
  }

  /// Whether the document is removed.
  @inline(__always) var isRemoved: Bool {
    if case .none = new { true } else { false }
  }

  /// The current revision before the change; nil if there was no document.
  var before: IndexedRevision? { oldHead.map { IndexedRevision($0, body: old?.body) } }

  /// The current revision after the change; nil if there is no document any more.
  var after: IndexedRevision? {
    guard let head = newHead else { return nil }
    return IndexedRevision(head, body: head.body == head.sequence ? body?.bytes : nil)
  }

  /// The change as listeners learn of it.
  @inline(__always) var announced: CollectionChange.Entry {
    guard let entry else { return CollectionChange.Entry(gone: id, kind) }
    return CollectionChange.Entry(entry, kind, added: added, isFromReplica: added != nil && !isLocal)
  }
}

/// The current revision of a document, from which entries and rows are derived.
struct IndexedRevision {
  var head: DocumentRecord.Head
  /// The body; nil if it has to be read first.
  var body: [UInt8]?

  init(_ head: DocumentRecord.Head, body: [UInt8]? = nil) {
    self.head = head
    self.body = body
  }

  /// The winner of a document; nil if it has no revisions.
  init?(_ record: DocumentRecord) {
    guard let head = record.head else { return nil }
    self.init(head, body: record.body)
  }

  /// - Parameter record: the record that `head` was read from.
  init(_ head: DocumentRecord.Head, in record: UnsafeRawBufferPointer) {
    self.init(head, body: head.body(in: record).map { Array($0) })
  }
}
