/// A connection that carries bytes in both directions.
///
/// Thread safety: one task at a time reads, and one writes; `close` may be called by any.
package protocol ByteChannel: AnyObject, Sendable {
  /// Returns the next bytes, at least one; nil when the peer has ended its direction. Suspends the
  /// task until there are some.
  ///
  /// - Throws: `HTTPError` `connectionLost`, `timedOut` or `cancelled`.
  func read() async throws -> [UInt8]?

  /// Hands bytes to the system, and suspends the task while the peer does not take them.
  ///
  /// - Throws: `HTTPError` `connectionLost`, `timedOut` or `cancelled`.
  func write(_ bytes: [UInt8]) async throws

  /// Ends both directions. Calls that wait throw. Idempotent.
  func close()
}

/// Makes connections.
package protocol ByteConnector: Sendable {
  /// - Throws: `HTTPError` `notConnected`, `timedOut` or `cancelled`; `unsupported` if the origin
  ///   asks for a secure connection, and the connector cannot make one.
  func connect(to origin: HTTPOrigin) async throws -> any ByteChannel
}
