import LatewoodCrypto
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodReplicator

/// A document that a client sends, taken apart.
struct IncomingDocument {
  /// The id in the body; nil if there is none.
  var id: String?
  var revision: RevisionID?
  /// The revision and its ancestors, newest first; nil if the body lists none.
  var history: [RevisionID]?
  var isDeleted = false
  /// The members that are not reserved, in canonical Fleece.
  var body: [UInt8]
  var attachments: [Attachment] = []

  struct Attachment {
    var name: String
    var contentType: String?
    var digest: String?
    var revisionPosition: UInt64?
    /// Whether the bytes that follow are gzip, as a CouchDB sends texts to its replicas.
    var isGzip = false
    var content: Content

    init(
      name: String, contentType: String? = nil, digest: String? = nil, revisionPosition: UInt64? = nil,
      isGzip: Bool = false, content: Content
    ) {
      self.name = name
      self.contentType = contentType
      self.digest = digest
      self.revisionPosition = revisionPosition
      self.isGzip = isGzip
      self.content = content
    }
  }

  /// The bytes of an attachment that arrived in a part of a message.
  struct Part {
    /// The bytes, decoded.
    var bytes: [UInt8]
    /// The coding in which they came; nil if they were plain.
    var encoding: PeerAttachment.Encoding?
    /// CouchDB's digest of the bytes that were sent.
    var digest: String

    /// The greatest length of decoded bytes.
    static let longest = 64 << 20

    init(_ sent: [UInt8], isGzip: Bool) throws(APIError) {
      digest = Part.digest(of: sent)
      bytes = sent
      guard isGzip else { return }
      bytes = try Part.decoded(sent)
      encoding = PeerAttachment.Encoding(name: Part.gzip, length: UInt64(sent.count))
    }

    static let gzip = "gzip"

    /// Decodes a body in gzip.
    static func decoded(_ sent: [UInt8]) throws(APIError) -> [UInt8] {
      do throws(HTTPError) { return try Gzip.decode(sent, limit: longest) } catch {
        throw error.kind == .tooLarge ? APIError(413, "too_large", error.reason) : .badRequest(error.reason)
      }
    }

    private static func digest(of bytes: [UInt8]) -> String {
      var hash = MD5()
      bytes.withUnsafeBytes { hash.update($0) }
      return "md5-" + Base64.encode(hash.digest())
    }
  }

  enum Content {
    /// The parent has the same attachment.
    case stub
    case data([UInt8])
    /// The bytes are in a part of the message, and have this length if it is known, and this one
    /// when they are decoded.
    case follows(length: UInt64?, decoded: UInt64?)
  }

  /// Members that are allowed and ignored, because they are only about the answer that the document
  /// was read from.
  private static let ignored: Set<String> = [
    "_conflicts", "_deleted_conflicts", "_local_seq", "_revs_info",
  ]

  /// Creates a document that the server makes itself.
  init(body: [UInt8]) { self.body = body }

  /// Returns the body of a document without members.
  static func empty() throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.endDictionary()
    return try writer.finish()
  }

  /// - Throws: `APIError`.
  init(_ document: FleeceElement) throws {
    guard try document.kind == .dictionary else {
      throw APIError.badRequest("Document must be a JSON object")
    }
    body = try IncomingDocument.members(of: document)
    for name in try document.keys(beginningWith: UInt8(ascii: "_")) {
      guard let value = try document.element(for: name) else { continue }
      switch name {
      case "_id":
        guard let text = try value.string() else {
          throw APIError(400, "illegal_docid", "Document id must be a string")
        }
        id = text
      case "_rev":
        guard let text = try value.string() else { throw APIError.badRequest("Invalid rev format") }
        // The revisions of local documents have the generation 0.
        revision = text.begins(withBytes: "0-") ? nil : try APIQuery.revision(text)
      case "_revisions": history = try IncomingDocument.history(value)
      case "_deleted":
        guard let flag = try value.boolean() else { throw APIError.specialMember(name) }
        isDeleted = flag
      case "_attachments": attachments = try IncomingDocument.attachments(value)
      default: guard IncomingDocument.ignored.contains(name) else { throw APIError.specialMember(name) }
      }
    }
  }

  /// Returns the members without an underscore at the beginning.
  static func members(of document: FleeceElement) throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try document.writeMembers(to: &writer) { $0.first != UInt8(ascii: "_") }
    try writer.endDictionary()
    return try writer.finish()
  }

  private static func history(_ revisions: FleeceElement) throws -> [RevisionID] {
    guard let start = try revisions.element(for: "start")?.natural(), start > 0,
      let ids = try revisions.element(for: "ids")?.elements(), !ids.isEmpty
    else { throw APIError.specialMember("_revisions") }
    // CouchDB, too, drops the ids for which no generation is left.
    return try ids.prefix(Int(clamping: start)).enumerated().map { index, digest in
      guard let digest = try digest.string() else { throw APIError.specialMember("_revisions") }
      return try APIQuery.revision("\(start - UInt64(index))-\(digest)")
    }
  }

  private static func attachments(_ value: FleeceElement) throws -> [Attachment] {
    guard try value.kind == .dictionary, let members = try value.members() else {
      throw APIError.specialMember("_attachments")
    }
    return try members.map { name, facts in
      try check(attachment: name)
      let type = try facts.element(for: "content_type")?.string()
      if let type { try check(contentType: type, of: name) }
      let content: Content
      var isGzip = false
      if try facts.element(for: "stub")?.boolean() == true {
        content = .stub
      } else if try facts.element(for: "follows")?.boolean() == true {
        isGzip = try self.isGzip(facts.element(for: "encoding")?.string(), of: name)
        let length = try facts.element(for: "length")?.natural()
        content = .follows(
          length: isGzip ? try facts.element(for: "encoded_length")?.natural() : length, decoded: length)
      } else if let text = try facts.element(for: "data")?.string(), let data = Base64.decode(text.utf8) {
        content = .data(data)
      } else {
        throw APIError.badRequest("Invalid attachment data for \(name)")
      }
      return Attachment(
        name: name, contentType: type,
        digest: try facts.element(for: "digest")?.string(),
        revisionPosition: try facts.element(for: "revpos")?.natural(), isGzip: isGzip, content: content)
    }
  }

  static func check(attachment name: String) throws(APIError) {
    if name.utf8.first == UInt8(ascii: "_") {
      throw APIError.badRequest("Attachment name '\(name)' starts with prohibited character '_'")
    }
    if name.utf8.isEmpty { throw APIError.badRequest("Attachment name is empty") }
    // A name is also a part of header fields.
    if name.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw APIError.badRequest("Attachment name has a control character")
    }
  }

  /// Checks a type, which is also a header field.
  static func check(contentType type: String, of name: String) throws(APIError) {
    if type.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
      throw APIError.badRequest("The content type of the attachment '\(name)' has a control character")
    }
  }

  /// Whether a content coding is gzip. Throws if it is another one.
  static func isGzip(_ encoding: String?, of name: String) throws(APIError) -> Bool {
    switch encoding {
    case nil, "identity": return false
    case Part.gzip: return true
    case let encoding?:
      throw APIError(
        415, "bad_content_type",
        "The attachment '\(name)' is sent with the content coding \(encoding), which is not supported")
    }
  }

  /// Checks an id for a document that is not local.
  static func check(id: String) throws(APIError) {
    if id.isEmpty { throw APIError(400, "illegal_docid", "Document id must not be empty") }
    if id.utf8.first == UInt8(ascii: "_"), !id.begins(withBytes: NameRules.designPrefix) {
      throw APIError(400, "illegal_docid", "Only reserved document ids may start with underscore.")
    }
    if let objection = NameRules.objection(toID: id) {
      throw APIError(400, "illegal_docid", "The document id \(objection)")
    }
  }

  /// Returns the revision with its history, for an insertion that makes no conflict.
  ///
  /// - Throws: `APIError` if the document names no revision.
  func foreignHistory() throws(APIError) -> [RevisionID] {
    if let history { return history }
    guard let revision else {
      throw APIError.badRequest(
        "When `new_edits: false`, the document needs `_rev` or `_revisions` specified")
    }
    return [revision]
  }
}
