import LatewoodHTTP

/// The names by which a server may be called, and the origins of the pages that may call it.
///
/// A page of another site can make a browser send requests to a server on the same machine. If the
/// name of that site resolves to this machine, the browser even shows the page the answers. The
/// field Host then has the other name, and in requests that change something, the field Origin has
/// the other origin.
package struct AllowedOrigins: Sendable {
  /// Hosts in lower case; an IPv6 address is in brackets.
  private let hosts: Set<String>

  package init(hosts: Set<String>) { self.hosts = hosts }

  /// The names of the machine itself.
  package static let loopback = AllowedOrigins(hosts: ["localhost", "127.0.0.1", "[::1]"])

  /// Returns the error about a request from elsewhere; nil if it is allowed.
  func objection(to fields: HTTPFields) -> APIError? {
    if let host = fields["Host"], !allows(host) {
      return APIError(403, "forbidden", "This server is not called \(host.prefix(80))")
    }
    guard let origin = fields["Origin"] else { return nil }
    let parts = origin.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0] == "http:" || parts[0] == "https:", parts[1].hasPrefix("/"),
      allows(parts[1].dropFirst())
    else { return APIError(403, "forbidden", "Pages of other origins may not use this server") }
    return nil
  }

  /// Whether a host with or without a port is allowed.
  private func allows(_ text: some StringProtocol) -> Bool {
    let text = text.lowercased()
    var host = text[...]
    // The port is after the last colon, which must not be one of an address in brackets.
    if let colon = text.lastIndex(of: ":"), text.last != "]" {
      guard text[text.index(after: colon)...].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
        return false
      }
      host = text[..<colon]
    }
    return hosts.contains(String(host))
  }
}
