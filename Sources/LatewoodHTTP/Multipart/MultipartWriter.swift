/// Writes the frame of a multipart body: the bytes before each part, and after the last. The parts
/// themselves are written between them by the caller, so that they can be streamed.
package struct MultipartWriter: Sendable {
  package let boundary: String

  /// - Parameter boundary: a text that does not occur in any part, such as 32 random hexadecimal
  ///   digits.
  package init(boundary: String) { self.boundary = boundary }

  /// The value of Content-Type.
  ///
  /// - Parameter subtype: such as `related`.
  package func contentType(_ subtype: String) -> String { "multipart/\(subtype); boundary=\"\(boundary)\"" }

  /// Returns the delimiter and the header before a part.
  ///
  /// - Throws: `HTTPError` `invalidRequest` if a field is not valid.
  package func begin(_ fields: HTTPFields, isFirst: Bool) throws(HTTPError) -> [UInt8] {
    var bytes = Array("\(isFirst ? "" : "\r\n")--\(boundary)\r\n".utf8)
    try HTTPEncoding.append(fields, to: &bytes)
    return bytes
  }

  /// The delimiter after the last part.
  package var end: [UInt8] { Array("\r\n--\(boundary)--".utf8) }
}
