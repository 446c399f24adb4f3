import LatewoodConcurrency

/// A response on an `HTTPConnection`. At the end of the body, it returns the connection to the
/// client.
final class HTTPConnectionResponse: HTTPResponse {
  let head: HTTPResponseHead
  private let client: HTTPClient
  private let isReusable: Bool
  /// Nil when the response has ended.
  private let connection: Guarded<HTTPConnection?>

  init(_ head: HTTPResponseHead, _ connection: HTTPConnection, _ client: HTTPClient, isReusable: Bool) {
    self.head = head
    self.client = client
    self.isReusable = isReusable
    self.connection = Guarded(connection)
  }

  deinit { close() }

  func next() async throws -> [UInt8]? {
    guard let connection = connection.withLock({ $0 }) else { return nil }
    do {
      if let data = try await connection.data() { return data }
      end(isReusable: isReusable && connection.isBetweenMessages)
      return nil
    } catch {
      close()
      if let error = error as? HTTPError, error.kind == .connectionLost {
        throw HTTPError(.truncated, "the connection was lost within an answer")
      }
      throw error
    }
  }

  func close() { end(isReusable: false) }

  private func end(isReusable: Bool) {
    let connection = connection.withLock { connection in
      defer { connection = nil }
      return connection
    }
    if let connection { client.take(connection, isReusable: isReusable) }
  }
}
