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
    try checkLength(adding: UInt64(content.count))
    bytes += try writer.begin(HTTPFields(fields), isFirst: isEmpty)
    isEmpty = false
    bytes += content
  }

  /// Throws if the body becomes too long to be built in memory.
  private func checkLength(adding length: UInt64) throws(APIError) {
    guard length <= UInt64(APIResponse.longest), bytes.count + Int(length) <= APIResponse.longest else {
      throw .tooLong
    }
  }

  /// Adds the content of an attachment.
  mutating func add(_ attachment: BodyAttachments.Attachment, _ store: DocumentStore) throws {
    guard let blob = try store.blob(attachment.blob) else { throw APIError.noAttachment }
    try checkLength(adding: blob.length)
    try add(
      [
        ("Content-Disposition", "attachment; filename=\(HeaderValue.quote(attachment.name))"),
        ("Content-Type", attachment.headerType), ("Content-Length", "\(blob.length)"),
      ], blob.read())
  }

  /// Returns the whole body as a response.
  func response(_ subtype: String) -> APIResponse {
    APIResponse(200, fields: HTTPFields([("Content-Type", writer.contentType(subtype))]), body: whole)
  }

  /// The whole body, with its end.
  var whole: [UInt8] { bytes + (isEmpty ? Array("--\(writer.boundary)--".utf8) : writer.end) }

  func contentType(_ subtype: String) -> String { writer.contentType(subtype) }
}
