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
    if let addresses = numericAddresses(of: origin) { return addresses }
    let result: Result<[SocketCalls.Address], HTTPError> = await withUnsafeContinuation { waiter in
      lookups.async { waiter.resume(returning: lookUp(origin)) }
    }
    return try result.get()
  }

  // Calls with typed errors are in functions of their own: see `SocketChannel`.

  /// Returns nil if the host is a name.
  @inline(never) private static func numericAddresses(of origin: HTTPOrigin) -> [SocketCalls.Address]? {
    do throws(SocketCalls.Failure) {
      return try SocketCalls.addresses(origin.host, port: origin.port, isNumeric: true)
    } catch { return nil }
  }

  @inline(never) private static func lookUp(_ origin: HTTPOrigin) -> Result<[SocketCalls.Address], HTTPError>
  {
    do throws(SocketCalls.Failure) {
      return .success(try SocketCalls.addresses(origin.host, port: origin.port))
    } catch { return .failure(HTTPError(.notConnected, "the name of the host is not known")) }
  }

  private func connect(_ address: SocketCalls.Address) async throws -> SocketChannel {
    let (descriptor, isConnected) = try SocketConnector.begin(address).get()
    guard !isConnected else { return SocketChannel(descriptor, timeout: timeout) }
    // The attempt has its own timeout.
    let channel = SocketChannel(descriptor, timeout: connectTimeout)
    do {
      try await channel.finishConnecting(timeout: timeout)
      return channel
    } catch {
      channel.close()
      guard let error = error as? HTTPError, error.kind == .timedOut else { throw error }
      throw HTTPError(.timedOut, "the host did not answer in \(connectTimeout)")
    }
  }

  /// Makes a socket and begins to connect it. Returns whether that has succeeded already.
  @inline(never) private static func begin(
    _ address: SocketCalls.Address
  ) -> Result<(descriptor: Int32, isConnected: Bool), HTTPError> {
    let descriptor: Int32
    do throws(SocketCalls.Failure) {
      descriptor = try SocketCalls.socket(address)
    } catch { return .failure(HTTPError(.notConnected, "no socket could be made: \(error.reason)")) }
    do throws(SocketCalls.Failure) {
      try SocketCalls.connect(descriptor, address)
      return .success((descriptor, true))
    } catch {
      if error.isInProgress { return .success((descriptor, false)) }
      SocketCalls.close(descriptor)
      return .failure(HTTPError(.notConnected, "the host cannot be reached: \(error.reason)"))
    }
  }
}
