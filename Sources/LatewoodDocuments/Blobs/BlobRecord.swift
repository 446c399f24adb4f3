/// The record of a blob: the number in the keys of its chunks, and its length; 8 bytes big-endian
/// each.
///
/// An empty record means that the content is missing: bodies refer to the blob, and saving the
/// content fills in the record.
struct BlobRecord: Sendable, Equatable {
  var number: UInt64
  var length: UInt64

  static let chunkLength = 1 << 20

  /// The record of a blob whose content is not in this database.
  static let missing: [UInt8] = []

  var chunkCount: UInt64 { (length &+ UInt64(BlobRecord.chunkLength - 1)) / UInt64(BlobRecord.chunkLength) }

  init(number: UInt64, length: UInt64) {
    self.number = number
    self.length = length
  }

  private init(_ bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    guard bytes.count == 16 else {
      throw DatabaseError(.corruptData, "the record of a blob has \(bytes.count) bytes instead of 16")
    }
    number = try SequenceEntry.sequence(ofKey: UnsafeRawBufferPointer(rebasing: bytes[..<8]))
    length = try SequenceEntry.sequence(ofKey: UnsafeRawBufferPointer(rebasing: bytes[8...]))
    guard length <= UInt64(Int.max) >> 1 else {
      throw DatabaseError(.corruptData, "a blob has \(length) bytes")
    }
  }

  /// Reads a stored record. Returns nil for a blob whose content is not in this database.
  init?(stored bytes: UnsafeRawBufferPointer) throws(DatabaseError) {
    if bytes.isEmpty { return nil }
    try self.init(bytes)
  }

  var encoded: [UInt8] { SequenceEntry.key(number) + SequenceEntry.key(length) }

  /// Returns the key of a chunk.
  static func chunkKey(_ number: UInt64, _ chunk: UInt64) -> [UInt8] {
    SequenceEntry.key(number) + SequenceEntry.key(chunk).dropFirst(4)
  }
}
