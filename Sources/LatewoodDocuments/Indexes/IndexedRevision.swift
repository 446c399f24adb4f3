import LatewoodStore

/// The current revision of a document, to be indexed.
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
