import LatewoodFleece
import LatewoodHTTP
import LatewoodReplicator

/// A document that a client sends with its attachments in a multipart body.
struct MultipartInput {
  let document: IncomingDocument
  /// The contents of the attachments, by name.
  private(set) var contents: [ExactName: IncomingDocument.Part] = [:]

  /// - Throws: `APIError`.
  init(_ body: [UInt8], boundary: String) throws {
    var parts = try MultipartInput.parts(body, boundary)
    guard !parts.isEmpty else { throw APIError.badRequest("a multipart body has no parts") }
    let text = parts.removeFirst().content
    document = try IncomingDocument(APIQuery.json(text))
    // Parts without a name are in the order in which the document lists the attachments.
    var unnamed = try MultipartInput.following(text, document)[...]
    let attachments = Dictionary(
      document.attachments.map { (ExactName($0.name), $0) }, uniquingKeysWith: { first, _ in first })
    var decoded = 0
    for part in parts {
      let field = part.fields["Content-Disposition"].flatMap { HeaderValue($0) }
      while let next = unnamed.first, contents[ExactName(next)] != nil { unnamed.removeFirst() }
      guard let name = field?["filename"] ?? unnamed.first else {
        throw APIError.badRequest("a multipart body has more parts than attachments")
      }
      let attachment = attachments[ExactName(name)]
      if case .follows(let length, _)? = attachment?.content {
        try MultipartInput.check(part.content.count, length)
      }
      let isGzip = try IncomingDocument.isGzip(part.fields["Content-Encoding"], of: name)
      let found = try IncomingDocument.Part(part.content, isGzip: isGzip || attachment?.isGzip == true)
      if found.encoding != nil {
        decoded += found.bytes.count
        guard decoded <= IncomingDocument.Part.longest else {
          throw APIError(
            413, "too_large", "the attachments are longer than \(IncomingDocument.Part.longest) bytes")
        }
      }
      contents[ExactName(name)] = found
    }
    for attachment in document.attachments {
      guard case .follows(_, let length) = attachment.content else { continue }
      try MultipartInput.check(contents[ExactName(attachment.name)]?.bytes.count, length)
    }
  }

  /// Checks the number of bytes of an attachment; nil if it is not there.
  private static func check(_ count: Int?, _ expected: UInt64?) throws(APIError) {
    guard let count, UInt64(count) >= expected ?? 0 else {
      throw .badRequest("attachment shorter than expected")
    }
    if let expected, UInt64(count) > expected { throw .badRequest("attachment longer than expected") }
  }

  private static func parts(
    _ body: [UInt8], _ boundary: String
  ) throws -> [(fields: HTTPFields, content: [UInt8])] {
    var found: [(fields: HTTPFields, content: [UInt8])] = []
    do throws(HTTPError) {
      var parser = try MultipartParser(boundary: boundary)
      parser.append(body)
      while let event = try parser.next() {
        switch event {
        case .part(let fields): found.append((fields, []))
        case .data(let bytes): if !found.isEmpty { found[found.count - 1].content += bytes }
        case .end: return found
        }
      }
    } catch { throw APIError.badRequest(error.reason) }
    // The end is missing: the last part may be incomplete.
    throw APIError.badRequest("attachment shorter than expected")
  }

  /// Returns the names of the attachments that follow, in the order of the text.
  private static func following(_ text: [UInt8], _ document: IncomingDocument) throws -> [String] {
    let names = Set(
      document.attachments.filter { if case .follows = $0.content { true } else { false } }
        .map { ExactName($0.name) })
    guard let compact = JSON.compact(text) else { return [] }
    return compact.withUnsafeBytes { bytes in
      let path = [Array(BodyAttachments.member.utf8)]
      let members = JSONSlice(bytes).value(at: path)?.members() ?? []
      return members.compactMap { $0.name.string() }.map { String(decoding: $0, as: UTF8.self) }
        .filter { names.contains(ExactName($0)) }
    }
  }
}
