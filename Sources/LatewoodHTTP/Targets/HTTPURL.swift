/// The scheme, host and port of a URL: credentials are for one origin, and are never sent to
/// another.
package struct HTTPOrigin: Sendable, Hashable {
  package let isSecure: Bool
  /// The host in lower case; an IPv6 address is without its brackets.
  package let host: String
  package let port: UInt16

  package init(isSecure: Bool = false, host: String, port: UInt16) {
    self.isSecure = isSecure
    self.host = host
    self.port = port
  }

  /// The value of the Host field.
  package var authority: String {
    let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    return port == (isSecure ? 443 : 80) ? name : "\(name):\(port)"
  }
}

/// A URL with the scheme `http` or `https`.
package struct HTTPURL: Sendable, Equatable {
  package let origin: HTTPOrigin
  /// The name and password before the host; nil if there are none.
  package let credentials: BasicCredentials?
  package let target: HTTPTarget

  /// Parses a URL.
  ///
  /// - Throws: `HTTPError` `malformed`, or `unsupported` for another scheme. The reason does not
  ///   contain the text, which may contain a password.
  package init(parsing text: String) throws(HTTPError) {
    let bytes = Array(text.utf8)
    guard bytes.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw HTTPError(.malformed, "a URL contains a space or a control character")
    }
    guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), bytes[colon...].starts(with: "://".utf8) else {
      throw HTTPError(.malformed, "a URL does not begin with http:// or https://")
    }
    let scheme = String(decoding: bytes[..<colon].map(HTTPSyntax.lowercased), as: UTF8.self)
    guard scheme == "http" || scheme == "https" else {
      throw HTTPError(.unsupported, "a URL has a scheme other than http and https")
    }
    let start = colon + 3
    let end =
      bytes[start...].firstIndex { [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")].contains($0) }
      ?? bytes.endIndex
    let authority = bytes[start..<end]
    let rest = bytes[end...].prefix { $0 != UInt8(ascii: "#") }
    let slash: [UInt8] = rest.first == UInt8(ascii: "/") ? [] : [UInt8(ascii: "/")]
    guard let target = HTTPTarget(parsing: String(decoding: slash + rest, as: UTF8.self)) else {
      throw HTTPError(.malformed, "the path of a URL is not percent-encoded")
    }
    self.target = target
    var host = authority
    if let at = authority.lastIndex(of: UInt8(ascii: "@")) {
      credentials = try HTTPURL.credentials(authority[..<at])
      host = authority[(at + 1)...]
    } else {
      credentials = nil
    }
    origin = try HTTPURL.origin(host, isSecure: scheme == "https")
  }

  private static func credentials(_ text: ArraySlice<UInt8>) throws(HTTPError) -> BasicCredentials {
    let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let name = PercentCoding.decode(parts[0]),
      let password = PercentCoding.decode(parts.count > 1 ? parts[1] : [])
    else { throw HTTPError(.malformed, "the name or password in a URL is not percent-encoded") }
    return BasicCredentials(name: name, password: password)
  }

  private static func origin(_ text: ArraySlice<UInt8>, isSecure: Bool) throws(HTTPError) -> HTTPOrigin {
    var host = text
    var digits: ArraySlice<UInt8> = []
    if text.first == UInt8(ascii: "[") {
      guard let bracket = text.firstIndex(of: UInt8(ascii: "]")) else {
        throw HTTPError(.malformed, "the address in a URL has no closing bracket")
      }
      host = text[(text.startIndex + 1)..<bracket]
      let rest = text[(bracket + 1)...]
      guard rest.isEmpty || rest.first == UInt8(ascii: ":") else {
        throw HTTPError(.malformed, "the address in a URL is followed by more than a port")
      }
      digits = rest.dropFirst()
    } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
      host = text[..<colon]
      digits = text[(colon + 1)...]
    }
    guard let name = PercentCoding.decode(host), !name.isEmpty,
      name.utf8.allSatisfy({
        HTTPSyntax.isLetter($0) || HTTPSyntax.isDigit($0) || $0 >= 0x80
          || [UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":")].contains($0)
      })
    else { throw HTTPError(.malformed, "a URL has no valid host") }
    var port: UInt16 = isSecure ? 443 : 80
    if !digits.isEmpty {
      guard let number = HTTPSyntax.number(digits), number > 0, number <= 65535 else {
        throw HTTPError(.malformed, "the port of a URL is not a number from 1 to 65535")
      }
      port = UInt16(number)
    }
    let lower = String(decoding: name.utf8.map(HTTPSyntax.lowercased), as: UTF8.self)
    return HTTPOrigin(isSecure: isSecure, host: lower, port: port)
  }
}
