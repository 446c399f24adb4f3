import LatewoodConcurrency
import LatewoodHTTP

/// A revision with its attachments as the body of a request: `multipart/related`, whose first part
/// is the document, followed by the bytes of each attachment that is not a stub.
///
/// The length is sent, because not every proxy in front of a CouchDB accepts chunks. Attachments
/// are opened one after the other, while the body is sent.
actor MultipartDocument: HTTPBodySource {
  private let writer: MultipartWriter
  private let revision: PeerRevision
  private let contents: [PeerAttachment]
  private let document: [UInt8]
  nonisolated let length: UInt64
  nonisolated var contentType: String { writer.contentType("related") }

  private enum State {
    case document
    /// Before the attachment at an index.
    case attachment(Int)
    case content(Int, any AttachmentReader, left: UInt64)
    case ended
  }
  private var state = State.document

  /// - Throws: `ReplicationError` `unsupported` if the length of an attachment is not known.
  init(_ revision: PeerRevision) throws {
    self.revision = revision
    contents = revision.attachments.filter { $0.content != nil }
    writer = MultipartWriter(boundary: MultipartDocument.boundary())
    document = try CouchDBDocument.json(of: revision)
    let type = HTTPFields([("Content-Type", "application/json")])
    var length = UInt64(try writer.begin(type, isFirst: true).count + document.count + writer.end.count)
    for attachment in contents {
      guard let count = attachment.length else {
        throw ReplicationError(.unsupported, "the length of an attachment is not known")
      }
      let (sum, overflow) = length.addingReportingOverflow(count)
      let header = UInt64(try MultipartDocument.header(attachment, writer).count)
      guard !overflow, sum <= UInt64(Int64.max) - header else {
        throw ReplicationError(.unsupported, "an attachment is too long")
      }
      length = sum + header
    }
    self.length = length
  }

  private static func boundary() -> String {
    var generator = SystemRandomNumberGenerator()
    let digits = (0..<2).map { _ in String(generator.next() | 1 << 63, radix: 16) }
    return digits.joined()
  }

  private static func header(_ attachment: PeerAttachment, _ writer: MultipartWriter) throws -> [UInt8] {
    let name = HeaderValue.quote(attachment.name)
    let fields = HTTPFields([
      ("Content-Disposition", "attachment; filename=\(name)"), ("Content-Type", attachment.contentType),
      ("Content-Length", "\(attachment.length ?? 0)"),
    ])
    return try writer.begin(fields, isFirst: false)
  }

  func next() async throws -> [UInt8]? {
    while true {
      switch state {
      case .ended: return nil
      case .document:
        state = .attachment(0)
        return try writer.begin(HTTPFields([("Content-Type", "application/json")]), isFirst: true) + document
      case .attachment(let index):
        guard index < contents.count, let content = contents[index].content else {
          state = .ended
          return writer.end
        }
        let reader = try await content.open()
        state = .content(index, reader, left: contents[index].length ?? 0)
        return try MultipartDocument.header(contents[index], writer)
      case .content(let index, let reader, let left):
        if let bytes = try await reader.next() {
          guard UInt64(bytes.count) <= left else { throw MultipartDocument.wrongLength }
          state = .content(index, reader, left: left - UInt64(bytes.count))
          return bytes
        }
        reader.close()
        guard left == 0 else { throw MultipartDocument.wrongLength }
        state = .attachment(index + 1)
      }
    }
  }

  private static var wrongLength: ReplicationError {
    ReplicationError(.unreachable, "an attachment does not have the length that was announced")
  }
}
