/// A change of a document. The record after it is in ``DocumentBatch/record``, as bytes.
struct RevisionChange {
  let id: String
  /// The heads of the records before and after the change; nil if there was no document before, or
  /// is none afterwards.
  let oldHead, newHead: DocumentRecord.Head?
  /// The body that is in the record before the change; nil if there is none.
  let oldBody: [UInt8]?
  /// The entry in the feed after the change; nil if the document is removed.
  let entry: SequenceEntry?
  /// The body that the change adds, at the sequence of `newHead`; nil if it adds none.
  let body: NewBody?
  /// The body of the edited revision, which the change supersedes; 0 if there is none.
  let superseded: UInt64
  /// Other bodies that the change supersedes.
  let otherSuperseded: [UInt64]
  /// The revisions of a document that is removed.
  let removed: RevisionTree?
  /// The revision that the change adds; nil if it only removes revisions.
  let added: RevisionID?
  let kind: CollectionChange.Reason
  /// Whether the change was made here, so that unique indexes may refuse it.
  let isLocal: Bool

  /// An edit of the winner of a document that has a single branch, or of a new document.
  @inline(__always) init(
    _ id: String, from oldHead: DocumentRecord.Head?, _ oldBody: [UInt8]?, to newHead: DocumentRecord.Head,
    body: NewBody
  ) {
    self.id = id
    self.oldHead = oldHead
    self.newHead = newHead
    self.oldBody = oldBody
    entry = SequenceEntry(sequence: newHead.sequence, id: id, head: newHead)
    self.body = body
    superseded = oldHead?.body ?? 0
    otherSuperseded = []
    removed = nil
    added = newHead.winner
    kind = .saved
    isLocal = true
  }

  /// Any change of a document.
  init(
    _ id: String, from old: DocumentRecord?, to new: DocumentRecord?, body: NewBody? = nil,
    added: RevisionID? = nil, _ kind: CollectionChange.Reason, isLocal: Bool = false
  ) {
    self.id = id
    oldHead = old?.head
    newHead = new?.head
    oldBody = old?.body
    entry = newHead.map { SequenceEntry(sequence: $0.sequence, id: id, head: $0) }
    self.body = body
    superseded = 0
    otherSuperseded =
      if let new { RevisionChange.superseded(by: new, after: old, addsBody: body != nil, kind) } else { [] }
    removed = new == nil ? old?.tree : nil
    self.added = added
    self.kind = kind
    self.isLocal = isLocal
  }

  /// Returns the bodies of revisions that are not leaves any more, or that never were.
  private static func superseded(
    by new: DocumentRecord, after old: DocumentRecord?, addsBody: Bool, _ kind: CollectionChange.Reason
  ) -> [UInt64] {
    var bodies: [UInt64] = []
    if addsBody, let node = new.tree.nodes.first(where: { $0.body == new.sequence }), !node.isLeaf {
      bodies.append(new.sequence)
    }
    // Bodies of purged leaves are deleted by the caller.
    if kind == .purged { return bodies }
    // A leaf that now has children may be pruned at the same time.
    for node in old?.tree.nodes ?? [] where node.isLeaf && node.body != 0 {
      if new.tree[node.id]?.isLeaf != true { bodies.append(node.body) }
    }
    return bodies
  }

  /// Whether the document is removed.
  @inline(__always) var isRemoved: Bool {
    if case .none = newHead { true } else { false }
  }

  /// The current revision before the change; nil if there was no document.
  var before: IndexedRevision? { oldHead.map { IndexedRevision($0, body: oldBody) } }

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
