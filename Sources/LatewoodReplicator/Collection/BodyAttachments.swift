import LatewoodDocuments
import LatewoodFleece

/// The attachments of a stored body, and the body without them.
///
/// CouchDB keeps named attachments beside the members of a document. A collection keeps the content
/// of each as a blob, and its metadata in the member `_attachments` of the body:
///
/// ```
/// "_attachments": {"photo.jpg": {
///   "@type": "blob", "digest": "sha256-…", "length": 52317, "content_type": "image/jpeg",
///   "source_digest": "md5-…", "revpos": 2, "encoding": "gzip", "encoded_length": 50121}}
/// ```
///
/// A blob elsewhere in the body is an attachment, too, named `blob_` followed by its path, as in
/// Couchbase Lite: `blob_/photo`.
package struct BodyAttachments {
  /// The body without the member `_attachments`.
  package var body: [UInt8]
  package var attachments: [Attachment] = []

  package struct Attachment: Equatable {
    package var name: String
    package var contentType: String
    package var blob: BlobDigest
    /// CouchDB's digest; nil if no server has sent one.
    package var sourceDigest: String?
    package var length: UInt64?
    /// The generation that added the attachment; nil if it is not known.
    package var revisionPosition: UInt64?
    package var encoding: PeerAttachment.Encoding?
    /// Whether the blob is in the members of the body.
    package var isInBody: Bool

    package init(
      name: String, contentType: String, blob: BlobDigest, sourceDigest: String? = nil,
      length: UInt64? = nil, revisionPosition: UInt64? = nil, encoding: PeerAttachment.Encoding? = nil,
      isInBody: Bool = false
    ) {
      self.name = name
      self.contentType = contentType
      self.blob = blob
      self.sourceDigest = sourceDigest
      self.length = length
      self.revisionPosition = revisionPosition
      self.encoding = encoding
      self.isInBody = isInBody
    }
  }

  package static let member = NameRules.attachmentsMember
  static let blobPrefix = "blob_"
  /// The type of an attachment that does not state one.
  package static let usualType = "application/octet-stream"

  /// Separates a stored body from its attachments. O(bytes).
  package init(_ stored: [UInt8]) throws(FleeceError) {
    body = stored
    if BlobReferences.find(in: stored).isEmpty { return }
    let root = try FleeceBody(stored).root
    for (key, value) in try root.members() ?? [] {
      if key == Self.member {
        for (name, facts) in try value.members() ?? [] {
          if let attachment = try Self.attachment(name, facts, isInBody: false) {
            attachments.append(attachment)
          }
        }
      } else {
        try collect(value, "/" + key)
      }
    }
    if try root.element(for: Self.member) != nil {
      var writer = FleeceWriter()
      try writer.beginDictionary()
      try root.writeMembers(to: &writer) { !$0.elementsEqual(Self.member.utf8) }
      try writer.endDictionary()
      body = try writer.finish()
    }
  }

  /// Finds the blobs in a value, without recursion.
  private mutating func collect(_ value: FleeceElement, _ path: String) throws(FleeceError) {
    var waiting = [(value, path)]
    while let (value, path) = waiting.popLast() {
      if let found = try Self.attachment(Self.blobPrefix + path, value, isInBody: true) {
        attachments.append(found)
      } else if let members = try value.members() {
        for (key, member) in members.reversed() { waiting.append((member, path + "/" + key)) }
      } else if try value.kind == .array {
        for index in (0..<(try value.count() ?? 0)).reversed() {
          if let element = try value.element(at: index) { waiting.append((element, "\(path)/\(index)")) }
        }
      }
    }
  }

  /// Returns the attachment that a dictionary describes; nil for other values.
  private static func attachment(
    _ name: String, _ facts: FleeceElement, isInBody: Bool
  ) throws(FleeceError) -> Attachment? {
    guard try facts.kind == .dictionary, try facts.element(for: "@type")?.string() == "blob",
      let text = try facts.element(for: "digest")?.string(), let blob = BlobDigest(text: text)
    else { return nil }
    var encoding: PeerAttachment.Encoding?
    if !isInBody, let coding = try facts.element(for: "encoding")?.string() {
      encoding = PeerAttachment.Encoding(
        name: coding, length: try facts.element(for: "encoded_length")?.natural())
    }
    return Attachment(
      name: name, contentType: try facts.element(for: "content_type")?.string() ?? usualType, blob: blob,
      sourceDigest: isInBody ? nil : try facts.element(for: "source_digest")?.string(),
      length: try facts.element(for: "length")?.natural(),
      revisionPosition: isInBody ? nil : try facts.element(for: "revpos")?.natural(),
      encoding: encoding, isInBody: isInBody)
  }

  /// Returns the bytes of a body with the given attachments, except those that are blobs in it.
  package func joined() throws(FleeceError) -> [UInt8] {
    let apart = attachments.filter { !$0.isInBody }
    if apart.isEmpty { return body }
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try FleeceBody(body).root.writeMembers(to: &writer) { _ in true }
    try writer.key(Self.member)
    try writer.beginDictionary()
    for attachment in apart {
      try writer.key(attachment.name)
      try attachment.write(to: &writer)
    }
    try writer.endDictionary()
    try writer.endDictionary()
    return try writer.finish()
  }
}

extension BodyAttachments.Attachment {
  fileprivate func write(to writer: inout FleeceWriter) throws(FleeceError) {
    try writer.beginDictionary()
    try writer.key("@type")
    try writer.string("blob")
    try writer.key("digest")
    try writer.string(blob.text)
    try writer.key("content_type")
    try writer.string(contentType)
    if let length {
      try writer.key("length")
      try writer.unsigned(length)
    }
    if let sourceDigest {
      try writer.key("source_digest")
      try writer.string(sourceDigest)
    }
    if let revisionPosition {
      try writer.key("revpos")
      try writer.unsigned(revisionPosition)
    }
    if let encoding {
      try writer.key("encoding")
      try writer.string(encoding.name)
      if let length = encoding.length {
        try writer.key("encoded_length")
        try writer.unsigned(length)
      }
    }
    try writer.endDictionary()
  }
}
