import Foundation
import LatewoodHTTP

#if canImport(Security)
  import Security
#endif

/// The settings of a client's connections that differ from those of the system.
package struct ConnectionSettings: Sendable {
  /// A proxy that connects to the server on behalf of the client (HTTP CONNECT); nil for the
  /// settings of the system.
  package var proxy: (host: String, port: UInt16)?
  /// Certificates in DER, one of which must be in the chain of the server; empty for none.
  package var pinnedCertificates: [Data] = []
  /// A certificate with its private key in PKCS #12, and the password of the archive.
  package var identity: (archive: Data, password: String)?

  package init() {}

  /// The first setting that this platform does not support; nil if there is none. Those of
  /// Foundation on Linux have no effect, or do not exist.
  package var unsupported: String? {
    #if canImport(Security)
      nil
    #else
      if proxy != nil {
        "proxies"
      } else if !pinnedCertificates.isEmpty {
        "pinned certificates"
      } else if identity != nil {
        "client certificates"
      } else {
        nil
      }
    #endif
  }

  /// Whether nothing differs from the system's settings.
  package var isEmpty: Bool { proxy == nil && pinnedCertificates.isEmpty && identity == nil }
}

#if canImport(Security)
  extension ConnectionSettings {
    /// The dictionary that `URLSessionConfiguration` takes for the proxy.
    var proxyDictionary: [AnyHashable: Any]? {
      // The constants for https exist on macOS only; their values are the same on all platforms.
      proxy.map {
        [
          "HTTPEnable": 1, "HTTPProxy": $0.host, "HTTPPort": Int($0.port), "HTTPSEnable": 1,
          "HTTPSProxy": $0.host, "HTTPSPort": Int($0.port),
        ]
      }
    }

    /// Returns the credential of the client certificate; nil if there is none.
    ///
    /// - Throws: `HTTPError` `invalidRequest` if the archive cannot be opened with the password.
    func clientCredential() throws(HTTPError) -> URLCredential? {
      guard let identity else { return nil }
      var items: CFArray?
      let options = [kSecImportExportPassphrase as String: identity.password] as CFDictionary
      guard SecPKCS12Import(identity.archive as CFData, options, &items) == errSecSuccess,
        let first = (items as? [[String: Any]])?.first,
        let found = first[kSecImportItemIdentity as String] as CFTypeRef?,
        CFGetTypeID(found) == SecIdentityGetTypeID()
      else {
        throw HTTPError(.invalidRequest, "the client certificate cannot be read with its password")
      }
      let chain = first[kSecImportItemCertChain as String] as? [SecCertificate]
      return URLCredential(
        identity: unsafeDowncast(found, to: SecIdentity.self),
        certificates: chain.map { Array($0.dropFirst()) },
        persistence: .none)
    }

    /// Whether the system trusts a server, and its chain has one of the pinned certificates.
    func accepts(_ trust: SecTrust) -> Bool {
      guard SecTrustEvaluateWithError(trust, nil),
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate]
      else { return false }
      return chain.contains { pinnedCertificates.contains(SecCertificateCopyData($0) as Data) }
    }
  }
#endif
