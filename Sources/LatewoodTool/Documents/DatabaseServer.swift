import LatewoodConcurrency
import LatewoodHTTP
import LatewoodNetwork
import LatewoodServing

/// Serves a database over HTTP: listens at an address of this machine, and has each connection
/// served by a task of its own, which suspends while the client sends nothing.
final class DatabaseServer: Sendable {
  /// The port at which it listens.
  let port: UInt16
  private let listener: SocketListener

  /// The loopback address. Other machines cannot reach it.
  static let loopback = "127.0.0.1"

  /// The greatest number of connections. Those beyond it are closed at once.
  private static let mostConnections = 1000

  /// - Parameters:
  ///   - host: the address at which to listen.
  ///   - port: the port; 0 for any free one.
  ///   - timeout: a connection ends if the client neither sends nor takes anything for this time.
  ///   - gate: decides who may send requests.
  ///   - onServed: called after each request, from any thread.
  /// - Throws: `HTTPError` `notConnected` if the port is in use, or the address is not one of this
  ///   machine.
  init(
    _ service: DatabaseService, host: String = DatabaseServer.loopback, port: UInt16,
    timeout: Duration = .seconds(60), gate: RequestGate = RequestGate(),
    onServed: @escaping @Sendable (ServerConnection.Served) -> Void
  ) throws(HTTPError) {
    // Requests block while they commit, which must not take the threads of Swift's tasks.
    let executor = QueueExecutor("latewood.server")
    let open = Guarded(0)
    // One value, so that the connections share the memory for bodies.
    let limits = ServerConnection.Limits()
    listener = try SocketListener(host: host, port: port, timeout: timeout) { channel in
      let isAccepted = open.withLock { count in
        guard count < DatabaseServer.mostConnections else { return false }
        count += 1
        return true
      }
      guard isAccepted else { return channel.close() }
      Task(executorPreference: executor) {
        await ServerConnection(channel, from: channel.peer, limits: limits, gate: gate, onServed: onServed) {
          await service.answer($0)
        }.run()
        open.withLock { $0 -= 1 }
      }
    }
    self.port = listener.port
  }

  /// Ends the listening. Open connections go on until their clients end them.
  func close() { listener.close() }
}
