import LatewoodFleece

/// A name and a password for the Basic scheme: RFC 7617. Its description hides both.
package struct BasicCredentials: Sendable, Equatable, CustomStringConvertible, CustomReflectable {
  package let name: String
  package let password: String

  package init(name: String, password: String) {
    self.name = name
    self.password = password
  }

  /// Parses the value of an Authorization field; nil if it is of another scheme or not valid.
  package init?(authorization value: String) {
    let parts = value.utf8.split(separator: UInt8(ascii: " "))
    guard parts.count == 2,
      HTTPSyntax.equalsIgnoringCase(String(decoding: parts[0], as: UTF8.self), "basic"),
      let bytes = Base64.decode(Array(parts[1])), let text = String(validating: bytes, as: UTF8.self),
      let colon = text.firstIndex(of: ":")
    else { return nil }
    name = String(text[..<colon])
    password = String(text[text.index(after: colon)...])
  }

  /// The value of the Authorization field. A name with a colon cannot be sent.
  package var authorization: String { "Basic " + Base64.encode(Array("\(name):\(password)".utf8)) }

  package var description: String { "credentials" }
  package var customMirror: Mirror { Mirror(self, children: []) }
}
