import LatewoodDocuments
import LatewoodFleece

/// Binary content that is stored outside of documents. A document only contains its description:
/// the media type, the length, and the digest that identifies the content.
///
/// In JSON a blob is a dictionary, in the same form as in Couchbase Lite:
///
/// ```json
/// {"@type":"blob","content_type":"image/jpeg","digest":"sha256-…","length":1234}
/// ```
public struct Blob: Sendable, Hashable {
  /// The media type, such as `image/jpeg`; nil if it is not known.
  public let contentType: String?
  /// `sha256-` and the SHA-256 of the content, in base64.
  ///
  /// A blob of Couchbase Lite may have `sha1-` and the SHA-1. Such a digest is preserved, but the
  /// blob has no content in this database, because content is looked up by its SHA-256.
  public let digest: String
  /// The length of the content in bytes.
  public let length: UInt64

  /// - Parameters:
  ///   - contentType: the media type; nil if it is not known.
  ///   - digest: `sha256-` and 32 bytes, or `sha1-` and 20 bytes, in base64.
  ///   - length: the length of the content in bytes.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the digest has neither of these forms.
  public init(contentType: String?, digest: String, length: UInt64) throws {
    guard Blob.digestKinds.contains(where: { Blob.sum(of: digest, $0) != nil }) else {
      throw DatabaseError(
        .invalidParameter, "“\(digest)” is not the digest of a blob",
        advice: "Use the digest of an existing blob: sha256- and 32 bytes in base64, or sha1- and 20 bytes.")
    }
    self.contentType = contentType
    self.digest = digest
    self.length = length
  }

  /// - Parameter sum: the SHA-256 of the content, 32 bytes.
  package init(contentType: String?, sum: [UInt8], length: UInt64) {
    precondition(sum.count == 32, "a SHA-256 has 32 bytes")
    self.contentType = contentType
    digest = Blob.sha256.prefix + Base64.encode(sum)
    self.length = length
  }

  /// The 32 bytes by which the content is found; nil if the digest is not a SHA-256.
  package var sum: [UInt8]? { Blob.sum(of: digest, Blob.sha256) }

  private typealias DigestKind = (prefix: String, length: Int)
  private static let sha256: DigestKind = (BlobDigest.textPrefix, 32)
  private static let digestKinds: [DigestKind] = [sha256, ("sha1-", 20)]

  private static func sum(of digest: String, _ kind: DigestKind) -> [UInt8]? {
    guard digest.hasPrefix(kind.prefix),
      let sum = Base64.decode(digest.utf8.dropFirst(kind.prefix.utf8.count)), sum.count == kind.length
    else { return nil }
    return sum
  }
}

/// The dictionary that represents a blob in a document.
extension Blob {
  enum Key: String, CodingKey {
    case type = "@type"
    case contentType = "content_type"
    case digest, length
  }
  static let typeName = "blob"

  /// Reads the blob that a dictionary describes; nil if it does not describe one. A missing length
  /// is read as 0.
  init?(_ value: DocumentValue) {
    guard value.kind == .dictionary, value[Key.type.rawValue].string == Blob.typeName,
      let digest = value[Key.digest.rawValue].string
    else { return nil }
    try? self.init(
      contentType: value[Key.contentType.rawValue].string, digest: digest,
      length: value[Key.length.rawValue].uint64 ?? 0)
  }

  /// Returns whether a value is a dictionary that describes a blob.
  public static func isBlob(_ value: DocumentValue) -> Bool { Blob(value) != nil }

  /// Returns the dictionary that describes the blob as canonical JSON.
  ///
  /// - Throws: never: each description of a blob has a JSON form.
  public func toJSON() throws -> String { try value.toJSON() }

  var value: DocumentValue {
    [
      Key.type.rawValue: DocumentValue(Blob.typeName), Key.contentType.rawValue: DocumentValue(contentType),
      Key.digest.rawValue: DocumentValue(digest), Key.length.rawValue: DocumentValue(length),
    ]
  }
}

/// The same dictionary in any coder.
extension Blob: Codable {
  /// Reads the dictionary that describes the blob.
  ///
  /// - Throws: `DecodingError` if the dictionary does not describe a blob; the errors of the
  ///   decoder.
  public init(from decoder: any Decoder) throws {
    let members = try decoder.container(keyedBy: Key.self)
    guard try members.decode(String.self, forKey: .type) == Blob.typeName else {
      throw DecodingError.dataCorruptedError(
        forKey: .type, in: members, debugDescription: "the dictionary describes no blob")
    }
    let digest = try members.decode(String.self, forKey: .digest)
    do {
      try self.init(
        contentType: try? members.decodeIfPresent(String.self, forKey: .contentType), digest: digest,
        length: (try? members.decodeIfPresent(UInt64.self, forKey: .length)) ?? 0)
    } catch {
      throw DecodingError.dataCorruptedError(
        forKey: .digest, in: members, debugDescription: "\(error)")
    }
  }

  /// Writes the dictionary that describes the blob.
  ///
  /// - Throws: the errors of the encoder.
  public func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: Key.self)
    try members.encode(Blob.typeName, forKey: .type)
    try members.encodeIfPresent(contentType, forKey: .contentType)
    try members.encode(digest, forKey: .digest)
    try members.encode(length, forKey: .length)
  }
}
