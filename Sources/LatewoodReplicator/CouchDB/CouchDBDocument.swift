import LatewoodCrypto
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// The form of revisions in CouchDB's API: JSON with the members that the protocol reserves.
enum CouchDBDocument {
  /// The members that the protocol reserves, and that are not part of a body.
  private static let reserved: Set<String> = [
    "_id", "_rev", "_revisions", "_deleted", "_attachments", "_conflicts", "_deleted_conflicts",
    "_local_seq", "_revs_info",
  ]

  static func revision(_ text: String) throws -> RevisionID {
    do throws(DatabaseError) {
      return try RevisionID(text)
    } catch { throw CouchDBRequests.notCouchDB(error.message) }
  }

  // MARK: - From JSON

  static func revision(of document: FleeceElement, _ requests: CouchDBRequests) throws -> PeerRevision {
    guard let id = try document.element(for: "_id")?.string(),
      let name = try document.element(for: "_rev")?.string()
    else { throw CouchDBRequests.notCouchDB("a document has no id or revision") }
    let history = try history(document.element(for: "_revisions")) ?? [revision(name)]
    guard history[0].description == name else {
      throw CouchDBRequests.notCouchDB("the history of a document does not begin with its revision")
    }
    return PeerRevision(
      id: id, history: history, isDeleted: try document.element(for: "_deleted")?.boolean() ?? false,
      body: try body(of: document),
      attachments: try attachments(document.element(for: "_attachments"), id, name, requests))
  }

  /// The members that are not reserved, as Fleece.
  static func body(of document: FleeceElement) throws -> [UInt8] {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try document.writeMembers(to: &writer) { key in
      key.first != UInt8(ascii: "_") || !reserved.contains(String(decoding: key, as: UTF8.self))
    }
    try writer.endDictionary()
    return try writer.finish()
  }

  private static func history(_ revisions: FleeceElement?) throws -> [RevisionID]? {
    guard let revisions else { return nil }
    guard case .integer(let start) = try revisions.element(for: "start")?.number(), start > 0,
      let ids = try revisions.element(for: "ids"), let count = try ids.count(), count > 0, count <= start
    else { throw CouchDBRequests.notCouchDB("the history of a document is damaged") }
    return try (0..<count).map { index in
      guard let digest = try ids.element(at: index)?.string() else {
        throw CouchDBRequests.notCouchDB("the history of a document is damaged")
      }
      return try revision("\(start - Int64(index))-\(digest)")
    }
  }

  private static func attachments(
    _ attachments: FleeceElement?, _ id: String, _ revision: String, _ requests: CouchDBRequests
  ) throws -> [PeerAttachment] {
    guard let attachments else { return [] }
    guard let members = try attachments.members() else {
      throw CouchDBRequests.notCouchDB("the attachments of a document are damaged")
    }
    return try members.map { name, facts in
      let digest = try facts.element(for: "digest")?.string()
      let length = try facts.element(for: "length")?.natural()
      var encoding: PeerAttachment.Encoding?
      if let coding = try facts.element(for: "encoding")?.string() {
        encoding = .init(name: coding, length: try facts.element(for: "encoded_length")?.natural())
      }
      return PeerAttachment(
        name: name,
        contentType: try facts.element(for: "content_type")?.string() ?? "application/octet-stream",
        digest: digest, length: length, revisionPosition: try facts.element(for: "revpos")?.natural() ?? 1,
        encoding: encoding,
        content: CouchDBAttachment(
          requests: requests, path: CouchDBRequests.path(ofDocument: id) + [name], revision: revision,
          length: length))
    }
  }

  // MARK: - To JSON

  /// Returns the document that stands for a revision, with its history.
  static func json(of revision: PeerRevision) throws -> [UInt8] {
    var output = JSONOutput()
    output.beginDictionary()
    output.key("_id")
    output.text(revision.id)
    let newest = revision.history[0]
    output.key("_rev")
    output.text(newest.description)
    output.key("_revisions")
    output.beginDictionary()
    output.key("start")
    output.unsigned(newest.generation)
    output.key("ids")
    output.beginArray()
    for ancestor in revision.history {
      // The digest is what follows the generation.
      output.text(String(ancestor.description.drop { $0 != "-" }.dropFirst()))
    }
    output.endArray()
    output.endDictionary()
    if revision.isDeleted {
      output.key("_deleted")
      output.boolean(true)
    }
    if !revision.attachments.isEmpty {
      output.key("_attachments")
      output.beginDictionary()
      for attachment in revision.attachments { write(attachment, to: &output) }
      output.endDictionary()
    }
    try write(members: revision.body, to: &output)
    output.endDictionary()
    return output.take()
  }

  /// Returns a local document.
  static func json(id: String, revision: String?, members: [UInt8]) throws -> [UInt8] {
    var output = JSONOutput()
    output.beginDictionary()
    output.key("_id")
    output.text(id)
    if let revision {
      output.key("_rev")
      output.text(revision)
    }
    try write(members: members, to: &output)
    output.endDictionary()
    return output.take()
  }

  private static func write(_ attachment: PeerAttachment, to output: inout JSONOutput) {
    output.key(attachment.name)
    output.beginDictionary()
    output.key("content_type")
    output.text(attachment.contentType)
    output.key("revpos")
    output.unsigned(attachment.revisionPosition)
    // CouchDB compares the digest with that of the bytes that it receives: those of an encoded
    // attachment are sent decoded.
    if let digest = attachment.digest, attachment.content == nil || attachment.encoding == nil {
      output.key("digest")
      output.text(digest)
    }
    if let length = attachment.length {
      output.key("length")
      output.unsigned(length)
    }
    output.key(attachment.content == nil ? "stub" : "follows")
    output.boolean(true)
    output.endDictionary()
  }

  private static func write(members body: [UInt8], to output: inout JSONOutput) throws {
    guard let members = try FleeceBody(written: body).root.members() else { return }
    for (name, value) in members {
      output.key(name)
      try value.withValue { value throws(FleeceError) in try output.value(value) }
    }
  }
}

/// An attachment that is still on the server.
struct CouchDBAttachment: AttachmentContent {
  let requests: CouchDBRequests
  let path: [String]
  let revision: String
  let length: UInt64?

  func open() async throws -> any AttachmentReader {
    // Without Accept-Encoding the server sends the bytes decoded.
    let fields = HTTPFields([("Accept", "*/*")])
    let response = try await requests.send(
      "GET", path, query: [("rev", revision)], fields: fields, stream: .none, expectsLongBody: true,
      accepting: [200])
    return Reader(response, length)
  }

  private actor Reader: AttachmentReader {
    private let response: any HTTPResponse
    private let length: UInt64?
    private var count: UInt64 = 0
    private var hash = MD5()
    private let expected: String?

    init(_ response: any HTTPResponse, _ length: UInt64?) {
      self.response = response
      self.length = length
      expected = response.head.fields["Content-MD5"]
    }

    func next() async throws -> [UInt8]? {
      do {
        if let bytes = try await response.next() {
          count += UInt64(bytes.count)
          if let length, count > length {
            response.close()
            throw ReplicationError(.unexpectedAnswer, "an attachment is longer than its document states")
          }
          if expected != nil { bytes.withUnsafeBytes { hash.update($0) } }
          return bytes
        }
      } catch let error as HTTPError { throw try CouchDBRequests.error(error) }
      guard length == nil || length == count else {
        throw ReplicationError(.unreachable, "an attachment ended after \(count) bytes")
      }
      guard expected == nil || expected == Base64.encode(hash.digest()) else {
        throw ReplicationError(.unreachable, "an attachment arrived damaged: its MD5 is another")
      }
      return nil
    }

    nonisolated func close() { response.close() }
  }
}
