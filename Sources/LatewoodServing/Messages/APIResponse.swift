import LatewoodFleece
import LatewoodHTTP

/// The response to a request of CouchDB's HTTP API.
package struct APIResponse: Sendable {
  package var status: Int
  /// The fields, without those that describe the length of the body and the connection.
  package var fields: HTTPFields
  package var body: [UInt8]
  /// The length of the body in bytes, if the response to HEAD leaves it out; otherwise nil.
  package var length: UInt64?
  /// The body in pieces, if it is a feed that waits; otherwise nil.
  package var feed: ChangesFeed?

  /// The greatest length of a response that is built in memory, in bytes. Tests set less.
  @TaskLocal static var longest = 512 << 20

  init(_ status: Int, fields: HTTPFields = HTTPFields(), body: [UInt8] = [], feed: ChangesFeed? = nil) {
    self.status = status
    self.fields = fields
    self.body = body
    self.feed = feed
  }

  /// Creates a response in JSON.
  ///
  /// - Parameter write: writes one value.
  init(_ status: Int = 200, json write: (inout JSONOutput) throws -> Void) rethrows {
    var output = JSONOutput()
    try write(&output)
    output.lineBreak()
    self.init(status, fields: HTTPFields([("Content-Type", "application/json")]), body: output.take())
  }

  init(_ error: APIError) {
    self.init(error.status) { output in
      output.beginDictionary()
      output.member("error", error.error)
      output.member("reason", error.reason)
      output.endDictionary()
    }
    if let allowed = error.allowed { fields.add("Allow", allowed) }
    if let range = error.range { fields.add("Content-Range", range) }
  }

  /// Returns `{"ok":true}`.
  static func ok(_ status: Int = 200) -> APIResponse {
    APIResponse(status) { output in
      output.beginDictionary()
      output.member("ok", true)
      output.endDictionary()
    }
  }

  /// Returns the response to the same request by HEAD, which has no body.
  func withoutBody() -> APIResponse {
    var copy = self
    copy.length = length ?? UInt64(body.count)
    copy.body = []
    copy.feed = nil
    return copy
  }

  /// Returns this response with another field.
  func adding(_ name: String, _ value: String) -> APIResponse {
    var copy = self
    copy.fields.add(name, value)
    return copy
  }
}

extension JSONOutput {
  /// Throws if a response becomes too long to be built in memory: a short request can name one
  /// document many times.
  func checkLength(adding length: UInt64 = 0) throws(APIError) {
    guard UInt64(count) + min(length, UInt64(APIResponse.longest)) <= UInt64(APIResponse.longest) else {
      throw .tooLong
    }
  }

  mutating func member(_ name: String, _ value: String) {
    key(name)
    text(value)
  }

  mutating func member(_ name: String, _ value: Bool) {
    key(name)
    boolean(value)
  }

  mutating func member(_ name: String, _ value: UInt64) {
    key(name)
    unsigned(value)
  }

  mutating func member(_ name: String, _ value: Int) {
    key(name)
    integer(Int64(value))
  }
}
