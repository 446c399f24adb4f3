import LatewoodCrypto
import LatewoodFleece

/// The name of a blob: the SHA-256 of its bytes.
package struct BlobDigest: Sendable, Hashable, CustomStringConvertible {
  /// The 32 bytes of the hash.
  package let bytes: [UInt8]

  /// Creates a digest from its bytes. Returns nil unless there are exactly 32.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == SHA256.digestSize else { return nil }
    self.bytes = Array(bytes)
  }

  /// The digest of a whole blob.
  package init(of content: [UInt8]) {
    var hash = SHA256()
    content.withUnsafeBytes { hash.update($0) }
    bytes = hash.digest()
  }

  /// Creates a digest from ``text``. Returns nil for other texts.
  package init?(text: String) {
    guard text.utf8.starts(with: BlobDigest.textPrefix.utf8),
      let bytes = Base64.decode(text.utf8.dropFirst(BlobDigest.textPrefix.utf8.count))
    else { return nil }
    self.init(bytes)
  }

  init(_ hash: SHA256) { bytes = hash.digest() }

  /// The beginning of `text`.
  package static let textPrefix = "sha256-"

  /// The digest as documents contain it: `sha256-` and the bytes in base64.
  package var text: String { BlobDigest.textPrefix + Base64.encode(bytes) }

  /// The digest as 64 hexadecimal digits.
  package var description: String {
    String(decoding: bytes.flatMap { [BlobDigest.digit($0 >> 4), BlobDigest.digit($0 & 15)] }, as: UTF8.self)
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
