/// The stored record of a document with a single branch, as nearly every document has.
///
/// An edit of such a document is made on the bytes of its record: the new revision is put in front
/// of the others, and the oldest one is left out. That takes a fraction of the time of decoding the
/// revisions, appending to the tree and encoding it, and gives the same bytes.
///
/// Valid only as long as the bytes are.
struct UnbranchedRecord {
  private typealias NodeFlag = DocumentRecord.NodeFlag

  let head: DocumentRecord.Head
  private let bytes: UnsafeRawBufferPointer
  /// The stored bytes of the winner's ancestors, each followed by its parent.
  private let ancestors: UnsafeRawBufferPointer

  /// Reads the first bytes of a record. Returns nil if they show that there are several branches;
  /// ``append(_:to:)`` finds the others.
  init?(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    var source = try DocumentRecord.source(bytes)
    let (head, flags) = try source.head()
    let ancestors = source.rest()
    if head.hasConflicts || flags & NodeFlag.joins != 0 { return nil }
    if ancestors.isEmpty != (flags & NodeFlag.isRoot != 0) { return nil }
    self.head = head
    self.bytes = bytes
    self.ancestors = ancestors
  }

  /// The body of the winner if it is in the record.
  var body: [UInt8]? { head.body(in: bytes).map { Array($0) } }

  /// A revision that becomes the winner.
  struct NewWinner {
    var revision: RevisionID
    var isDeleted: Bool
    var body: [UInt8]
    /// The sequence of the change, at which the body is kept.
    var sequence: UInt64
    /// The time at which the document expires; nil for never.
    var expiry: UInt64?
    /// The number of revisions to keep, at least 1.
    var depth: Int

    /// The length of the body if it belongs in the record; otherwise 0.
    var bodyLength: Int { body.count <= DocumentRecord.bodyLimit ? body.count : 0 }

    /// The head of the record after the edit.
    var head: DocumentRecord.Head {
      DocumentRecord.Head(
        sequence: sequence, expiry: isDeleted ? nil : expiry, winner: revision, isDeleted: isDeleted,
        body: sequence, hasConflicts: false, bodyLength: bodyLength)
    }

    /// Appends everything before the ancestors.
    fileprivate func appendStart(isRoot: Bool, to record: inout [UInt8]) {
      DocumentRecord.appendFacts(
        hasConflicts: false, sequence: sequence, expiry: isDeleted ? nil : expiry, bodyLength: bodyLength,
        to: &record)
      record.append(varint: revision.generation)
      DocumentRecord.append(
        revision.digest, isDeleted: isDeleted, body: bodyLength == 0 ? sequence : 0, isRoot: isRoot,
        to: &record)
    }

    fileprivate func appendEnd(to record: inout [UInt8]) {
      if bodyLength > 0 { record.append(contentsOf: body) }
    }
  }

  /// Appends the record of a new document.
  static func append(_ edit: NewWinner, to record: inout [UInt8]) {
    record.reserveCapacity(record.count + 64 + edit.bodyLength)
    edit.appendStart(isRoot: true, to: &record)
    edit.appendEnd(to: &record)
  }

  /// Appends the record after an edit of the winner.
  ///
  /// - Returns: false if the record has several branches; nothing is appended then.
  /// - Throws: ``DatabaseError`` `corruptRevisionData`.
  func append(_ edit: NewWinner, to record: inout [UInt8]) throws(DatabaseError) -> Bool {
    guard let (length, last) = try keptAncestors(edit.depth - 2) else { return false }
    record.reserveCapacity(record.count + 128 + length + edit.bodyLength)
    edit.appendStart(isRoot: edit.depth < 2, to: &record)
    if edit.depth >= 2 {
      DocumentRecord.append(
        head.winner.digest, isDeleted: head.isDeleted, body: head.body, isRoot: length == 0, to: &record)
      let start = record.count
      record.append(contentsOf: UnsafeRawBufferPointer(rebasing: ancestors[..<length]))
      if length > 0 { record[start + last] |= NodeFlag.isRoot }
    }
    edit.appendEnd(to: &record)
    return true
  }

  /// Returns the length in bytes of the first `count` ancestors, or of all if there are fewer, and
  /// the offset of the last of them; nil if there are several branches.
  private func keptAncestors(_ count: Int) throws(DatabaseError) -> (length: Int, last: Int)? {
    guard var source = UntrustedBytes(ancestors, what: "the record of a document", code: .corruptRevisionData)
    else { return (0, 0) }
    var (length, last) = (0, 0)
    var generation = head.winner.generation
    var number = 0
    while true {
      let start = ancestors.count - source.count
      let flags = try source.skipRevision()
      if flags & NodeFlag.joins != 0 { return nil }
      generation &-= 1
      guard generation > 0 else { throw source.damaged("a first revision has a parent") }
      if number < count { (length, last) = (ancestors.count - source.count, start) }
      if flags & NodeFlag.isRoot != 0 { return source.isAtEnd ? (length, last) : nil }
      number += 1
    }
  }
}
