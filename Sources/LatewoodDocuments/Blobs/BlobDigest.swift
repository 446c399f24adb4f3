/// The name of a blob: the SHA-256 of its bytes.
package struct BlobDigest: Sendable, Hashable, CustomStringConvertible {
  /// 32 of them.
  package let bytes: [UInt8]

  /// Nil unless there are 32 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == SHA256.digestLength else { return nil }
    self.bytes = Array(bytes)
  }

  /// Of a whole blob.
  package init(of content: [UInt8]) {
    var hash = SHA256()
    content.withUnsafeBytes { hash.update($0) }
    bytes = hash.finish()
  }

  init(_ hash: inout SHA256) { bytes = hash.finish() }

  /// 64 hexadecimal digits.
  package var description: String {
    String(decoding: bytes.flatMap { [BlobDigest.digit($0 >> 4), BlobDigest.digit($0 & 15)] }, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

/// Where a blob's chunks are and how long it is: 8 bytes big-endian each.
///
/// Nothing in the place of a record says that the content is not here: bodies refer to the blob,
/// and whoever brings the content puts the record there.
struct BlobRecord: Sendable, Equatable {
  var number: UInt64
  var length: UInt64

  static let chunkLength = 1 << 20

  /// The record of a blob whose content is not here.
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

  /// Nil for that of a blob whose content is not here.
  init?(stored bytes: UnsafeRawBufferPointer) throws(DocumentError) {
    if bytes.isEmpty { return nil }
    try self.init(bytes)
  }

  var encoded: [UInt8] { SequenceEntry.key(number) + SequenceEntry.key(length) }

  /// The key of a chunk.
  static func chunkKey(_ number: UInt64, _ chunk: UInt64) -> [UInt8] {
    SequenceEntry.key(number) + SequenceEntry.key(chunk).dropFirst(4)
  }
}
