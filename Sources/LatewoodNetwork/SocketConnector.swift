import Dispatch
import LatewoodConcurrency
import LatewoodHTTP

/// Connects over TCP, without TLS.
package struct SocketConnector: ByteConnector {
  /// The time after which an attempt to connect to one address fails.
  package var connectTimeout: Duration = .seconds(10)
  /// A read or write fails if no byte is transferred for this time.
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

  /// The queue for resolving names, which blocks.
  private static let lookups = DispatchQueue(
    label: "latewood.lookup", qos: .userInitiated, attributes: .concurrent)

  private static func addresses(of origin: HTTPOrigin) async throws -> [SocketCalls.Address] {
    if let addresses = numericAddresses(of: origin) { return addresses }
    let result: Result<[SocketCalls.Address], HTTPError> = await withUnsafeContinuation { waiter in
      lookups.async { waiter.resume(returning: lookUp(origin)) }
    }
    return try result.get()
  }

  // Calls with typed errors are in separate functions: see `SocketChannel`.

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

  /// Makes a socket and begins to connect it. Returns whether it is already connected.
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
