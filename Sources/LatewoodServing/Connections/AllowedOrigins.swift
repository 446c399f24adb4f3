import LatewoodHTTP

/// The names by which a server may be called, and the origins of the pages that may call it.
///
/// A page of another site can make a browser send requests to a server on the same machine. If the
/// name of that site resolves to this machine, the browser even shows the page the answers. The
/// field Host then has the other name, and in requests that change something, the field Origin has
/// the other origin.
package struct AllowedOrigins: Sendable {
  /// The access that a page has.
  enum Access: Equatable {
    /// The request is not from a page, or from one of this server.
    case own
    /// The page has another origin, and the answer is for it.
    ///
    /// - Parameter withCookies: whether the browser's cookie for this server counts. It does not if
    ///   all origins are allowed.
    case shared(origin: String, withCookies: Bool)
    case refused(APIError)
  }

  /// Hosts in lower case; an IPv6 address is in brackets.
  private let hosts: Set<String>
  /// Whether any address may be in Host. A browser sends one only if the user has named it: the
  /// name of another site that leads here is not an address.
  private let allowsAddresses: Bool
  /// The other origins whose pages may use the server, as browsers write them.
  private let origins: Set<String>
  private let allowsAllOrigins: Bool

  /// - Parameters:
  ///   - hosts: names and addresses, without ports.
  ///   - allowsAddresses: whether all addresses are allowed, too.
  ///   - origins: other origins, such as `https://app.example.org`; `*` for all, without cookies.
  package init(hosts: Set<String>, allowsAddresses: Bool = false, sharedWith origins: [String] = []) {
    self.hosts = Set(hosts.map { $0.lowercased() })
    self.allowsAddresses = allowsAddresses
    self.origins = Set(origins)
    allowsAllOrigins = origins.contains("*")
  }

  /// The names of the machine itself.
  package static let loopbackHosts: Set<String> = ["localhost", "127.0.0.1", "[::1]"]

  package static let loopback = AllowedOrigins(hosts: loopbackHosts)

  /// Returns an origin in the form of browsers; nil if it is not the origin of an HTTP server.
  package static func normalized(_ origin: String) -> String? {
    do throws(HTTPError) {
      let url = try HTTPURL(parsing: origin)
      guard url.credentials == nil, url.target.query.isEmpty, url.target.segments.allSatisfy(\.isEmpty)
      else { return nil }
      return "\(url.origin.isSecure ? "https" : "http")://\(url.origin.authority)"
    } catch { return nil }
  }

  func access(_ fields: HTTPFields) -> Access {
    if let host = fields["Host"], !allows(host: host) {
      return .refused(APIError(403, "forbidden", "This server is not called \(host.prefix(80))"))
    }
    guard let origin = fields["Origin"] else { return .own }
    if origins.contains(origin) { return .shared(origin: origin, withCookies: true) }
    let parts = origin.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    if parts.count == 2, parts[0] == "http:" || parts[0] == "https:", parts[1].hasPrefix("/"),
      isOwn(parts[1].dropFirst(), fields["Host"])
    {
      return .own
    }
    if allowsAllOrigins { return .shared(origin: "*", withCookies: false) }
    return .refused(APIError(403, "forbidden", "Pages of other origins may not use this server"))
  }

  /// Whether the host of an origin is this server. An address that only Host may have has to be the
  /// same one.
  private func isOwn(_ authority: Substring, _ host: String?) -> Bool {
    guard let name = AllowedOrigins.host(of: authority) else { return false }
    return hosts.contains(name) || allowsAddresses && authority.lowercased() == host?.lowercased()
  }

  private func allows(host text: String) -> Bool {
    guard let host = AllowedOrigins.host(of: text) else { return false }
    return hosts.contains(host) || allowsAddresses && AllowedOrigins.isAddress(host)
  }

  private static func isAddress(_ host: String) -> Bool {
    if host.hasPrefix("["), host.hasSuffix("]") { return true }
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4 && parts.allSatisfy { UInt8($0) != nil && $0.first != "+" }
  }

  /// Returns the host of a text with or without a port, in lower case; nil if the port is not one.
  private static func host(of text: some StringProtocol) -> String? {
    let text = text.lowercased()
    var host = text[...]
    // The port is after the last colon, which must not be one of an address in brackets.
    if let colon = text.lastIndex(of: ":"), text.last != "]" {
      guard text[text.index(after: colon)...].utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) else {
        return nil
      }
      host = text[..<colon]
    }
    return String(host)
  }
}
