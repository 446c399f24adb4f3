import LatewoodDocuments
import LatewoodHTTP
import LatewoodReplicator

/// Collects the parts of a multipart body: documents, each with the attachments that follow it.
struct MultipartOutput {
  private let writer: MultipartWriter
  private var bytes: [UInt8] = []
  private var isEmpty = true

  init(boundary: String) { writer = MultipartWriter(boundary: boundary) }

  mutating func add(_ fields: [(String, String)], _ content: [UInt8]) throws {
    bytes += try writer.begin(HTTPFields(fields), isFirst: isEmpty)
    isEmpty = false
    bytes += content
  }

  /// Adds the content of an attachment.
  mutating func add(_ attachment: BodyAttachments.Attachment, _ store: DocumentStore) throws {
    guard let blob = try store.blob(attachment.blob) else { throw APIError.noAttachment }
    try add(
      [
        ("Content-Disposition", "attachment; filename=\(HeaderValue.quote(attachment.name))"),
        ("Content-Type", attachment.headerType), ("Content-Length", "\(blob.length)"),
      ] + (attachment.encoding.map { [("Content-Encoding", $0.name)] } ?? []), blob.read())
  }

  /// Returns the whole body as a response.
  func response(_ subtype: String) -> APIResponse {
    APIResponse(200, fields: HTTPFields([("Content-Type", writer.contentType(subtype))]), body: whole)
  }

  /// The whole body, with its end.
  var whole: [UInt8] { bytes + (isEmpty ? Array("--\(writer.boundary)--".utf8) : writer.end) }

  func contentType(_ subtype: String) -> String { writer.contentType(subtype) }
}
