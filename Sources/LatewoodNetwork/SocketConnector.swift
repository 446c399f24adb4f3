import Dispatch
import LatewoodConcurrency
import LatewoodHTTP

/// Connects over TCP, without TLS.
package struct SocketConnector: ByteConnector {
  /// The time after which an attempt to connect to one address fails.
  package var connectTimeout: Duration = .seconds(10)
  /// The time after which a read or write fails during which no byte was transferred.
  package var timeout: Duration = .seconds(60)

  package init() {}

  package func connect(to origin: HTTPOrigin) async throws -> any ByteChannel {
    guard !origin.isSecure else {
      throw HTTPError(.unsupported, "this connection cannot use TLS")
    }
    var failure = HTTPError(.notConnected, "the host has no address")
    for address in try await SocketConnector.addresses(of: origin) {
      do {
        return try await connect(address)
      } catch let error as HTTPError where error.kind != .cancelled { failure = error }
    }
    throw failure
  }

  /// The queue on which names are looked up, since that blocks.
  private static let lookups = DispatchQueue(
    label: "latewood.lookup", qos: .userInitiated, attributes: .concurrent)

  private static func addresses(of origin: HTTPOrigin) async throws -> [SocketCalls.Address] {
    let host = origin.host
    let port = origin.port
    do throws(SocketCalls.Failure) {
      return try SocketCalls.addresses(host, port: port, isNumeric: true)
    } catch {
      // Not an address, but a name.
    }
    let result: Result<[SocketCalls.Address], HTTPError> = await withUnsafeContinuation { waiter in
      lookups.async {
        do throws(SocketCalls.Failure) {
          waiter.resume(returning: .success(try SocketCalls.addresses(host, port: port)))
        } catch {
          waiter.resume(returning: .failure(HTTPError(.notConnected, "the name of the host is not known")))
        }
      }
    }
    return try result.get()
  }

  private func connect(_ address: SocketCalls.Address) async throws -> SocketChannel {
    let descriptor: Int32
    do throws(SocketCalls.Failure) {
      descriptor = try SocketCalls.socket(address)
    } catch { throw HTTPError(.notConnected, "no socket could be made: \(error.reason)") }
    do throws(SocketCalls.Failure) {
      try SocketCalls.connect(descriptor, address)
    } catch {
      guard error.isInProgress else {
        SocketCalls.close(descriptor)
        throw HTTPError(.notConnected, "the host cannot be reached: \(error.reason)")
      }
      // The attempt has its own channel, with its own timeout, which takes the descriptor over.
      let attempt = SocketChannel(descriptor, timeout: connectTimeout)
      do {
        try await attempt.finishConnecting(timeout: timeout)
      } catch let error as HTTPError {
        attempt.close()
        throw error.kind == .timedOut
          ? HTTPError(.timedOut, "the host did not answer in \(connectTimeout)") : error
      }
      return attempt
    }
    return SocketChannel(descriptor, timeout: timeout)
  }
}
