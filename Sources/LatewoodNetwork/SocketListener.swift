import Dispatch
import LatewoodConcurrency
import LatewoodHTTP

/// A listening socket, which hands over each connection.
///
/// If the system has no descriptor or memory for a connection, the listener pauses briefly before
/// it accepts again. In the meantime the system queues the connections.
// SAFETY: the source is thread-safe, and all properties are set once.
package final class SocketListener: @unchecked Sendable {
  /// The port. If 0 was requested, the system has chosen it.
  package let port: UInt16
  private let source: any DispatchSourceRead
  private let descriptor: Int32
  private let timeout: Duration
  private let handler: @Sendable (SocketChannel) -> Void
  private let isClosed = Guarded(false)

  /// - Parameters:
  ///   - host: the address of this machine at which to listen, such as `127.0.0.1` or `::1`.
  ///   - port: the port; 0 for any free one.
  ///   - timeout: a read or write of a connection fails if no byte is transferred for this time.
  ///   - handler: takes each connection. Called on a queue of the network layer, so it has to
  ///     return without blocking.
  /// - Throws: `HTTPError` `notConnected` if the address is not one of this machine, or is in use.
  package init(
    host: String, port: UInt16, timeout: Duration = .seconds(60),
    _ handler: @escaping @Sendable (SocketChannel) -> Void
  ) throws(HTTPError) {
    do throws(SocketCalls.Failure) {
      let addresses = try SocketCalls.addresses(host, port: port, isNumeric: true)
      guard let address = addresses.first else { throw SocketCalls.Failure.noAddress }
      let descriptor = try SocketCalls.socket(address)
      do throws(SocketCalls.Failure) {
        self.port = try SocketCalls.listen(descriptor, address, backlog: 128)
      } catch {
        SocketCalls.close(descriptor)
        throw error
      }
      self.descriptor = descriptor
    } catch { throw HTTPError(.notConnected, "no socket can listen at \(host):\(port): \(error.reason)") }
    self.timeout = timeout
    self.handler = handler
    source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: SocketChannel.queue)
    source.setEventHandler { [weak self] in self?.accept() }
    source.setCancelHandler { [descriptor] in SocketCalls.close(descriptor) }
    source.activate()
  }

  deinit { close() }

  /// Ends the listening. Connections that were handed over stay open. Idempotent.
  package func close() {
    let wasClosed = isClosed.withLock { isClosed in
      defer { isClosed = true }
      return isClosed
    }
    if !wasClosed { source.cancel() }
  }

  private func accept() {
    while !isClosed.withLock({ $0 }) {
      do throws(SocketCalls.Failure) {
        let accepted = try SocketCalls.accept(descriptor)
        handler(SocketChannel(accepted, timeout: timeout, from: SocketCalls.peerAddress(accepted)))
      } catch {
        if error.isInterrupted { continue }
        if error.isShortage { pause() }
        return
      }
    }
  }

  private func pause() {
    source.suspend()
    // A strong reference, because releasing a suspended source traps.
    SocketChannel.queue.asyncAfter(deadline: .now() + .milliseconds(100)) { self.source.resume() }
  }
}
