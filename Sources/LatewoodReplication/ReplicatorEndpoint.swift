import Latewood
import LatewoodHTTP
import LatewoodNetwork
import LatewoodReplicator
import LatewoodURLSession

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Replicator {
  /// The other side of a replication.
  public struct Endpoint: Sendable {
    enum Kind: Sendable {
      case collection(DocumentCollection)
      case couchDB(
        String, Credentials?, [(String, String)], ConnectionOptions, createsDatabase: Bool)
      case peer(@Sendable () -> any ReplicationPeer)
    }
    let kind: Kind

    /// A collection of this process, of the same or of another database.
    public static func collection(_ collection: DocumentCollection) -> Endpoint {
      Endpoint(kind: .collection(collection))
    }

    /// A database of a CouchDB server, or of another server with the same protocol.
    ///
    /// The URL, without credentials, is the identity of the database: if the server gets another
    /// address, the next run compares all documents again.
    ///
    /// - Parameters:
    ///   - url: the URL of the database, such as `https://couch.example.com/people`. With `https`,
    ///     the system must trust the certificate of the server.
    ///   - credentials: the proof of who you are. Default: the name and password in the URL.
    ///   - headers: fields that are sent with every request.
    ///   - connection: a proxy, pinned certificates and a client certificate.
    ///   - createsDatabase: whether the database is created if it does not exist.
    public static func couchDB(
      _ url: URL, credentials: Credentials? = nil, headers: [String: String] = [:],
      connection: ConnectionOptions = ConnectionOptions(), createsDatabase: Bool = false
    ) -> Endpoint {
      let fields = headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
      return Endpoint(
        kind: .couchDB(
          url.absoluteString, credentials, fields, connection, createsDatabase: createsDatabase))
    }

    /// Any peer: the seam for tests.
    package static func peer(_ make: @escaping @Sendable () -> any ReplicationPeer) -> Endpoint {
      Endpoint(kind: .peer(make))
    }
  }

  /// The proof of who a client is. It is sent to the server of the URL only, and is not part of
  /// errors, descriptions or checkpoints.
  public struct Credentials: Sendable, CustomStringConvertible, CustomReflectable {
    let authentication: CouchDBAuthentication

    /// A name and password. The server issues a cookie for them, which is renewed when it expires;
    /// a server without such sessions gets the name and password with every request.
    public static func password(_ name: String, _ password: String) -> Credentials {
      Credentials(authentication: .session(BasicCredentials(name: name, password: password)))
    }

    /// A name and password with every request.
    public static func basic(_ name: String, _ password: String) -> Credentials {
      Credentials(authentication: .basic(BasicCredentials(name: name, password: password)))
    }

    /// A token of another server, such as a JSON Web Token.
    public static func bearer(_ token: String) -> Credentials {
      Credentials(authentication: .bearer(token))
    }

    /// The word `credentials`.
    public var description: String { "credentials" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
  }
}

extension Replicator.Endpoint {
  /// The fields that the transport or the credentials decide.
  private static let ownFields: Set = [
    "host", "connection", "content-length", "content-type", "transfer-encoding", "expect", "upgrade", "te",
    "trailer", "accept-encoding", "cookie",
  ]

  /// Throws if the endpoint cannot be used, before anything is sent.
  func check(with collection: DocumentCollection) throws(ReplicationError) {
    switch kind {
    case .peer: return
    case .collection(let other):
      guard other.identity != collection.identity || other.database.path != collection.database.path
      else {
        throw ReplicationError(
          .invalidParameter, "the collection \(collection.name) is on both sides of a replication",
          advice: "Give another collection, or one of another database.")
      }
    case .couchDB(let text, let credentials, let headers, let connection, _):
      let url = try Self.url(text)
      guard url.target.segments.contains(where: { !$0.isEmpty }), url.target.query.isEmpty else {
        throw ReplicationError(
          .invalidParameter, "the URL does not name a database",
          advice: "Use a URL such as http://localhost:5984/people.")
      }
      try Self.check(headers, credentials)
      if !connection.settings.isEmpty { _ = try connection.transport(to: url.origin) }
    }
  }

  private static func check(
    _ headers: [(String, String)], _ credentials: Replicator.Credentials?
  ) throws(ReplicationError) {
    for (name, _) in headers {
      let lower = name.lowercased()
      guard !ownFields.contains(lower), credentials == nil || lower != "authorization" else {
        throw ReplicationError(
          .invalidParameter, "the header field \(name.debugDescription) is set by the replicator",
          advice: "Leave it out.")
      }
    }
    var fields = HTTPFields(headers)
    if case .bearer(let token)? = credentials?.authentication {
      fields.add("Authorization", "Bearer \(token)")
    }
    var encoded: [UInt8] = []
    do throws(HTTPError) { try HTTPEncoding.append(fields, to: &encoded) } catch {
      throw ReplicationError(.invalidParameter, error.reason)
    }
    switch credentials?.authentication {
    case .basic(let basic)?, .session(let basic)?:
      guard !basic.name.utf8.contains(UInt8(ascii: ":")) else {
        throw ReplicationError(.invalidParameter, "the name of the credentials contains a colon")
      }
    case .bearer?, .some(.none), nil: break
    }
  }

  private static func url(_ text: String) throws(ReplicationError) -> HTTPURL {
    do throws(HTTPError) { return try HTTPURL(parsing: text) } catch {
      throw ReplicationError(
        error.kind == .unsupported ? .unsupported : .invalidParameter, error.reason,
        advice: "Use a URL such as http://localhost:5984/people.")
    }
  }

  /// Returns the peer for one run.
  func peer() throws(ReplicationError) -> any ReplicationPeer {
    switch kind {
    case .collection(let collection): return CollectionPeer(collection.database.documents, collection.handle)
    case .peer(let make): return make()
    case .couchDB(let text, let credentials, let headers, let connection, let createsDatabase):
      let url = try Self.url(text)
      var options = CouchDBPeer.Options()
      options.createsDatabase = createsDatabase
      let transport: any HTTPTransport =
        url.origin.isSecure
        ? try connection.transport(to: url.origin)
        : HTTPClient(origin: url.origin, connector: SocketConnector())
      return CouchDBPeer(
        url, transport: transport,
        authentication: credentials?.authentication, fields: HTTPFields(headers), options: options)
    }
  }
}
