import LatewoodHTTP
import LatewoodReplicator
import LatewoodURLSession

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension Replicator {
  /// A proxy and certificates for the connections to a server.
  ///
  /// ```swift
  /// var connection = Replicator.ConnectionOptions()
  /// connection.pinnedCertificates = [certificate]
  /// try await Replicator(people, with: .couchDB(url, connection: connection)).run()
  /// ```
  ///
  /// The options apply to `https` on Apple platforms, where URLSession supports them. Foundation on
  /// Linux does not: a replicator with such an option throws `unsupported` at its creation, before
  /// anything is sent. So does one whose URL begins with `http`.
  public struct ConnectionOptions: Sendable, CustomStringConvertible, CustomReflectable {
    var settings = ConnectionSettings()

    /// Creates the default options, which are the settings of the system.
    public init() {}

    /// Sends all requests through a proxy (HTTP CONNECT) instead of the one that the system is set
    /// to.
    ///
    /// - Parameters:
    ///   - host: the name or address of the proxy.
    ///   - port: its port.
    public mutating func setProxy(host: String, port: UInt16) { settings.proxy = (host, port) }

    /// Certificates in DER. If there are any, the certificate of the server or one of its
    /// authorities must be among them, in addition to the checks of the system. Default: empty.
    public var pinnedCertificates: [Data] {
      get { settings.pinnedCertificates }
      set { settings.pinnedCertificates = newValue }
    }

    /// Presents a certificate to servers that ask the client for one.
    ///
    /// - Parameters:
    ///   - archive: the certificate and its private key in PKCS #12.
    ///   - password: the password of the archive.
    public mutating func setClientCertificate(_ archive: Data, password: String) {
      settings.identity = (archive, password)
    }

    /// The words `connection options`.
    public var description: String { "connection options" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns a client with these options. Throws if they cannot be honoured.
    func transport(to origin: HTTPOrigin) throws(ReplicationError) -> URLSessionTransport {
      guard origin.isSecure || settings.isEmpty else {
        throw ReplicationError(
          .unsupported, "the connection options need a server with https",
          advice: "Use the https address of the server, or leave the options out.")
      }
      if let unsupported = settings.unsupported {
        throw ReplicationError(.unsupported, "this platform does not support \(unsupported)")
      }
      do throws(HTTPError) { return try URLSessionTransport(origin: origin, settings: settings) } catch {
        throw ReplicationError(.invalidParameter, error.reason)
      }
    }
  }
}
