/// A value with parameters: `multipart/related; boundary="abc"`, `attachment; filename="a b.png"`.
package struct HeaderValue: Sendable, Equatable {
  /// The text before the parameters, in lower case.
  package let value: String
  /// The parameters, with names in lower case.
  package let parameters: [(name: String, value: String)]

  /// Parses the value of a field such as Content-Type; nil if it is not valid.
  package init?(_ text: String) {
    let bytes = Array(text.utf8)
    var at = bytes.firstIndex(of: UInt8(ascii: ";")) ?? bytes.count
    let value = HTTPSyntax.trimmed(bytes[..<at])
    guard !value.isEmpty, value.allSatisfy({ HTTPSyntax.isToken($0) || $0 == UInt8(ascii: "/") }) else {
      return nil
    }
    self.value = String(decoding: value.map(HTTPSyntax.lowercased), as: UTF8.self)
    var parameters: [(name: String, value: String)] = []
    while at < bytes.count {
      guard bytes[at] == UInt8(ascii: ";") else { return nil }
      at += 1
      while at < bytes.count, HTTPSyntax.isSpace(bytes[at]) { at += 1 }
      // An empty parameter is common and harmless.
      if at == bytes.count || bytes[at] == UInt8(ascii: ";") { continue }
      guard let name = HeaderValue.token(bytes, &at), at < bytes.count, bytes[at] == UInt8(ascii: "=") else {
        return nil
      }
      at += 1
      guard let value = HeaderValue.quoted(bytes, &at) ?? HeaderValue.token(bytes, &at) else { return nil }
      while at < bytes.count, HTTPSyntax.isSpace(bytes[at]) { at += 1 }
      let lower = String(decoding: name.map(HTTPSyntax.lowercased), as: UTF8.self)
      parameters.append((lower, String(decoding: value, as: UTF8.self)))
    }
    self.parameters = parameters
  }

  package subscript(_ name: String) -> String? { parameters.first { $0.name == name }?.value }

  package static func == (left: HeaderValue, right: HeaderValue) -> Bool {
    left.value == right.value && left.parameters.elementsEqual(right.parameters, by: ==)
  }

  /// Returns a text as a quoted string.
  package static func quote(_ text: String) -> String {
    var quoted = "\""
    for character in text.unicodeScalars {
      if character == "\"" || character == "\\" { quoted += "\\" }
      quoted.unicodeScalars.append(character)
    }
    return quoted + "\""
  }

  private static func token(_ bytes: [UInt8], _ at: inout Int) -> [UInt8]? {
    let start = at
    // Unlike a token, values such as boundaries are often sent with a slash or colon unquoted.
    while at < bytes.count, bytes[at] != UInt8(ascii: ";"), bytes[at] != UInt8(ascii: "="),
      bytes[at] != UInt8(ascii: "\""), !HTTPSyntax.isSpace(bytes[at])
    { at += 1 }
    return at > start ? Array(bytes[start..<at]) : nil
  }

  private static func quoted(_ bytes: [UInt8], _ at: inout Int) -> [UInt8]? {
    guard at < bytes.count, bytes[at] == UInt8(ascii: "\"") else { return nil }
    var value: [UInt8] = []
    var next = at + 1
    while next < bytes.count, bytes[next] != UInt8(ascii: "\"") {
      if bytes[next] == UInt8(ascii: "\\") { next += 1 }
      guard next < bytes.count else { return nil }
      value.append(bytes[next])
      next += 1
    }
    guard next < bytes.count else { return nil }
    at = next + 1
    return value
  }
}
