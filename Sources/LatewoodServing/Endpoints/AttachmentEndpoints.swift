import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodReplicator

/// Attachments: `/{db}/{id}/{name}`.
struct AttachmentEndpoints {
  private let database: ServedDatabase

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ id: String, _ name: String, _ call: APICall) throws -> APIResponse {
    switch call.method {
    case "GET", "HEAD": return try read(id, name, call)
    case "PUT":
      // This digest, too, is computed from the plain bytes.
      let isGzip = try IncomingDocument.isGzip(call.fields["Content-Encoding"], of: name)
      let content = isGzip ? try IncomingDocument.Part.decoded(call.body) : call.body
      return try change(id, name, content: content, call)
    case "DELETE": return try change(id, name, content: nil, call)
    default: throw APIError.methodNotAllowed("DELETE,GET,HEAD,PUT")
    }
  }

  private func read(_ id: String, _ name: String, _ call: APICall) throws -> APIResponse {
    let body = try database.reads().revision(of: id, call).body
    guard
      let attachment = try BodyAttachments(body).attachments.first(where: {
        ExactName($0.name) == ExactName(name)
      }),
      let blob = try database.store.blob(attachment.blob)
    else { throw APIError.noAttachment }
    let digest = attachment.sourceDigest ?? attachment.blob.text
    let etag = "\"\(digest.drop { $0 != "-" }.dropFirst())\""
    if call.matches(etag) { return APIResponse(304, fields: HTTPFields([("ETag", etag)])) }
    var fields = HTTPFields([
      ("Content-Type", attachment.headerType), ("ETag", etag),
      // A browser must not run the script in an attachment as a page of this server.
      ("Content-Security-Policy", "sandbox"),
    ])
    fields.add("Accept-Ranges", "bytes")
    guard let range = try call.range(of: blob.length) else {
      // CouchDB computes the digest of a compressed attachment from its compressed bytes. Here
      // the blob has the plain ones.
      if digest.hasPrefix("md5-"), attachment.encoding == nil {
        fields.add("Content-MD5", String(digest.dropFirst(4)))
      }
      var response = APIResponse(200, fields: fields, body: call.isHead ? [] : try blob.read())
      if call.isHead { response.length = blob.length }
      return response
    }
    fields.add("Content-Range", "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(blob.length)")
    return APIResponse(206, fields: fields, body: try blob.read(range))
  }

  /// Saves an edit of a document with one attachment more, replaced or less.
  ///
  /// - Parameter content: the bytes; nil to remove the attachment.
  private func change(
    _ id: String, _ name: String, content: [UInt8]?, _ call: APICall
  ) throws -> APIResponse {
    try IncomingDocument.check(id: id)
    try IncomingDocument.check(attachment: name)
    let parent = try call.namedRevision()
    let (reads, editor) = (try database.reads(), database.editor)
    let record = try reads.record(of: id)
    guard content != nil || record != nil else { throw APIError.missing }
    if let record, parent.map({ record.tree[$0]?.isLeaf == true }) != true,
      parent != nil || record.tree.winner?.isDeleted == false
    {
      throw APIError.conflict
    }
    let body = try record.flatMap { record in
      try parent.flatMap { record.tree[$0] }.flatMap { try reads.body(of: $0, in: record) }
    }
    let parts = try BodyAttachments(try body ?? IncomingDocument.empty())
    guard
      content != nil
        || parts.attachments.contains(where: { ExactName($0.name) == ExactName(name) && !$0.isInBody })
    else {
      throw APIError.noAttachment
    }
    var document = IncomingDocument(body: parts.body)
    document.revision = parent
    document.attachments = parts.attachments.filter { ExactName($0.name) != ExactName(name) }.map {
      .init(name: $0.name, content: .stub)
    }
    if let content {
      document.attachments.append(
        .init(name: name, contentType: call.fields["Content-Type"], content: .data(content)))
    }
    let prepared = try editor.prepare(document, id: id)
    let revision = try database.write { try editor.edit(prepared, $0) }
    let response = APIResponse(content == nil ? 200 : 201) { output in
      output.beginDictionary()
      output.member("ok", true)
      output.member("id", id)
      output.member("rev", revision.description)
      output.endDictionary()
    }
    return response.adding("ETag", "\"\(revision)\"")
  }
}

extension BodyAttachments.Attachment {
  /// The type for a header field. A server from which the attachment came may have sent characters
  /// that no field can have.
  var headerType: String {
    contentType.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? BodyAttachments.usualType : contentType
  }
}

extension APICall {
  /// Returns the range of bytes that the client asks for; nil for all. A field that is not a single
  /// range is ignored, as HTTP allows.
  ///
  /// - Throws: `APIError` 416 if the range is after the end.
  fileprivate func range(of length: UInt64) throws -> Range<UInt64>? {
    guard let text = fields["Range"], text.hasPrefix("bytes="), !text.contains(",") else { return nil }
    let ends = text.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
    guard ends.count == 2 else { return nil }
    let (first, last) = (APIQuery.natural(ends[0]), APIQuery.natural(ends[1]))
    var unsatisfiable = APIError(
      416, "requested_range_not_satisfiable", "Requested range not satisfiable")
    unsatisfiable.range = "bytes */\(length)"
    switch (first, last) {
    case (let first?, _) where last != nil || ends[1].isEmpty:
      guard first < length else { throw unsatisfiable }
      let end = min(last ?? .max, length - 1)
      return end >= first ? first..<(end + 1) : nil
    case (nil, let count?) where ends[0].isEmpty:
      guard count > 0, length > 0 else { throw unsatisfiable }
      return (length - min(count, length))..<length
    default: return nil
    }
  }
}
