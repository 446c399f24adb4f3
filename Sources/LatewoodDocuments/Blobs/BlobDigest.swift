/// The name of a blob: the SHA-256 of its bytes.
package struct BlobDigest: Sendable, Hashable, CustomStringConvertible {
  /// The 32 bytes of the hash.
  package let bytes: [UInt8]

  /// Returns nil unless there are exactly 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == SHA256.digestLength else { return nil }
    self.bytes = Array(bytes)
  }

  /// The digest of a whole blob.
  package init(of content: [UInt8]) {
    var hash = SHA256()
    content.withUnsafeBytes { hash.update($0) }
    bytes = hash.finish()
  }

  init(_ hash: inout SHA256) { bytes = hash.finish() }

  /// The digest as 64 hexadecimal digits.
  package var description: String {
    String(decoding: bytes.flatMap { [BlobDigest.digit($0 >> 4), BlobDigest.digit($0 & 15)] }, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

/// The record of a blob: the number of its chunks' keys and its length, 8 bytes big-endian each.
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

  private init(_ bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    guard bytes.count == 16 else {
      throw DocumentError(.corruptData, "the record of a blob has \(bytes.count) bytes instead of 16")
    }
    number = try SequenceEntry.sequence(ofKey: UnsafeRawBufferPointer(rebasing: bytes[..<8]))
    length = try SequenceEntry.sequence(ofKey: UnsafeRawBufferPointer(rebasing: bytes[8...]))
    guard length <= UInt64(Int.max) >> 1 else {
      throw DocumentError(.corruptData, "a blob has \(length) bytes")
    }
  }

  /// Returns nil for the record of a blob whose content is not in this database.
  init?(stored bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    if bytes.isEmpty { return nil }
    try self.init(bytes)
  }

  var encoded: [UInt8] { SequenceEntry.key(number) + SequenceEntry.key(length) }

  /// Returns the key of a chunk.
  static func chunkKey(_ number: UInt64, _ chunk: UInt64) -> [UInt8] {
    SequenceEntry.key(number) + SequenceEntry.key(chunk).dropFirst(4)
  }
}
