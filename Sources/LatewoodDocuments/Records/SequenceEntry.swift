import LatewoodStore

/// One entry of a collection's feed: a document at its latest change.
///
/// The key is the sequence, 8 bytes big-endian; the value
/// `flags 1 byte | generation varint | digest length 1 byte | digest | the document's id, UTF-8`.
package struct SequenceEntry: Sendable, Equatable {
  package var sequence: UInt64
  package var id: String
  /// The document's winning revision.
  package var revision: RevisionID
  package var isDeleted: Bool
  /// Whether the document has undeleted revisions other than the winner.
  package var hasConflicts: Bool

  /// On disk: never renumbered.
  private enum Flag {
    static let isDeleted: UInt8 = 1
    static let hasConflicts: UInt8 = 2
    /// The digest of the revision is a text.
    static let isText: UInt8 = 4
    static let all: UInt8 = 7
  }

  /// Returns the key of a sequence, in every keyspace that is ordered by sequence.
  static func key(_ sequence: UInt64) -> [UInt8] {
    withUnsafeBytes(of: sequence.bigEndian) { Array($0) }
  }

  /// The key of a sequence, without an allocation.
  struct Key: ByteSource {
    private let bigEndian: UInt64

    init(_ sequence: UInt64) { bigEndian = sequence.bigEndian }

    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
      try withUnsafeBytes(of: bigEndian, body)
    }
  }

  /// Returns the sequence of a key.
  static func sequence(ofKey key: UnsafeRawBufferPointer) throws(DatabaseError) -> UInt64 {
    guard key.count == 8 else {
      throw DatabaseError(.corruptData, "a sequence has \(key.count) bytes instead of 8")
    }
    return key.loadUnaligned(as: UInt64.self).byteSwappedIfLittle
  }

  func encoded() -> [UInt8] {
    var bytes: [UInt8] = []
    append(to: &bytes)
    return bytes
  }

  /// Appends the bytes of the value.
  func append(to bytes: inout [UInt8]) {
    bytes.reserveCapacity(bytes.count + 32 + id.utf8.count)
    bytes.append(
      (isDeleted ? Flag.isDeleted : 0) | (hasConflicts ? Flag.hasConflicts : 0)
        | (revision.digest.isText ? Flag.isText : 0))
    bytes.append(varint: revision.generation)
    bytes.append(UInt8(revision.digest.count))
    bytes.append(revision.digest)
    bytes.append(contentsOf: id.utf8)
  }

  init(sequence: UInt64, id: String, head: DocumentRecord.Head) {
    self.sequence = sequence
    self.id = id
    revision = head.winner
    isDeleted = head.isDeleted
    hasConflicts = head.hasConflicts
  }

  init(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) throws(DatabaseError) {
    sequence = try SequenceEntry.sequence(ofKey: key)
    guard var source = UntrustedBytes(value, what: "an entry of the feed") else {
      throw DatabaseError(.corruptData, "an entry of the feed is empty")
    }
    let flags = try source.byte()
    guard flags & ~Flag.all == 0 else { throw source.damaged("its flags are \(flags)") }
    let generation = try source.generation()
    let count = Int(try source.byte())
    revision = RevisionID(
      generation: generation,
      digest: flags & Flag.isText == 0 ? try source.digest(count) : try source.textDigest(count))
    isDeleted = flags & Flag.isDeleted != 0
    hasConflicts = flags & Flag.hasConflicts != 0
    guard source.count > 0 else { throw source.damaged("it names no document") }
    id = String(decoding: source.rest(), as: UTF8.self)
  }
}

extension UInt64 {
  /// The value of a number that was loaded from big-endian bytes.
  var byteSwappedIfLittle: UInt64 { UInt64(bigEndian: self) }
}

extension RawSpan {
  /// Calls `body` with the bytes, which it must check as it reads them.
  ///
  /// SAFETY: the pointer is used only during the call, for which the span is valid.
  @inline(__always) func reading<R>(
    _ body: (UnsafeRawBufferPointer) throws(DatabaseError) -> R
  ) throws(DatabaseError) -> R {
    try withUnsafeBytes { (bytes) throws(DatabaseError) -> R in try body(bytes) }
  }
}
