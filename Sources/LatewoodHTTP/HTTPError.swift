/// The error type of the HTTP layers: a message that cannot be read or written, or a connection
/// that failed.
package struct HTTPError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, CaseIterable {
    /// A message, multipart body or URL violates its grammar.
    case malformed
    /// A part of a message exceeds a limit of `HTTPLimits`, or a body the limit of its reader.
    case tooLarge
    /// A valid message uses a feature that this layer does not have.
    case unsupported
    /// The connection ended within a message.
    case truncated
    /// No connection could be made.
    case notConnected
    /// A connection ended before the first byte of a response.
    case connectionLost
    /// No secure connection could be made: the certificate of the server is not accepted.
    case insecure
    /// The peer did not answer in time.
    case timedOut
    /// The task that waited was cancelled, or the client was closed.
    case cancelled
    /// A caller's value cannot be sent.
    case invalidRequest
  }

  package var kind: Kind
  /// The description of the problem, in one sentence. It never contains credentials.
  package var reason: String

  package init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }
}

extension HTTPError: CustomStringConvertible {
  package var description: String { reason }
}
