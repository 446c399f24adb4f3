import Dispatch
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodHTTP
import LatewoodServing

/// One run of `latewood serve`: the open file, its server, and the lines about requests.
struct ServeRun {
  let server: DatabaseServer
  private let store: DocumentStore
  private let lines: Lines
  private let console: Console

  /// The lines that are not printed yet. Requests are served by many threads, but only one prints.
  private final class Lines: Sendable {
    private let waiting = Guarded<[ServerConnection.Served]>([])
    private let signal = DispatchSemaphore(value: 0)

    func add(_ served: ServerConnection.Served) {
      waiting.withLock { $0.append(served) }
      signal.signal()
    }

    /// Waits for at least one line, and takes all.
    func next() -> [ServerConnection.Served] {
      signal.wait()
      return waiting.withLock { lines in
        defer { lines = [] }
        return lines
      }
    }
  }

  /// Opens the file, and begins to serve it.
  init(_ arguments: Arguments, _ console: Console) throws {
    self.console = console
    let number = try arguments.number(of: .port) ?? 5984
    guard let port = UInt16(exactly: number) else { throw Failure.usage("--port is a number up to 65535") }
    let path = try arguments.text(0)
    var options = DocumentOptions()
    options.store.lockTimeout = try arguments.lockTimeout()
    options.store.setKey()
    store = try Failure.naming(path) {
      try DocumentStore.open(
        at: path, mode: arguments.has(.createDatabase) ? .openOrCreate : .openExisting, options: options)
    }
    let lines = Lines()
    self.lines = lines
    do throws(HTTPError) {
      server = try DatabaseServer(
        DatabaseService(store, .init(version: LatewoodCommand.version)), port: port
      ) { lines.add($0) }
    } catch {
      do throws(DatabaseError) { try store.close() } catch {}
      throw Failure(
        .cannotOpen, code: "cannotListen", error.reason, advice: "Choose another port with --port.")
    }
    try console.line("Serving \(path) at http://\(DatabaseServer.host):\(server.port)/")
    try console.flush()
  }

  /// Prints a line for each request, until a signal ends the process. What has been answered is in
  /// the file by then.
  func run() throws -> Never {
    while true {
      for served in lines.next() {
        try console.line("\(served.method) \(served.target) \(served.status) \(served.length)")
      }
      try console.flush()
    }
  }

  /// Ends the listening, and closes the file.
  func close() throws {
    server.close()
    try store.close()
  }
}
