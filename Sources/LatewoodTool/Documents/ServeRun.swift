import Dispatch
import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodServing

/// One run of `latewood serve`: the open file, its server, and the lines about requests.
struct ServeRun {
  let server: DatabaseServer
  private let store: DocumentStore
  private let lines: ServedLines
  private let console: Console

  /// Opens the file, and begins to serve it.
  init(_ arguments: Arguments, _ console: Console) throws {
    self.console = console
    // Before the file, so that a mistake creates none.
    let options = try ServeOptions(arguments)
    let path = try arguments.text(0)
    var open = DocumentOptions()
    open.store.lockTimeout = try arguments.lockTimeout()
    open.store.setKey()
    store = try Failure.naming(path) {
      try DocumentStore.open(
        at: path, mode: arguments.has(.createDatabase) ? .openOrCreate : .openExisting, options: open)
    }
    let lines = ServedLines()
    self.lines = lines
    var settings = DatabaseService.Settings(version: LatewoodCommand.version)
    settings.users = options.users
    do throws(HTTPError) {
      server = try DatabaseServer(
        DatabaseService(store, settings), host: options.host, port: options.port, gate: options.gate
      ) { lines.add($0) }
    } catch {
      do throws(DatabaseError) { try store.close() } catch {}
      throw Failure(
        .cannotOpen, code: "cannotListen", error.reason,
        advice: "Choose another port with --port, or an address of this machine with --listen.")
    }
    let url = options.url(port: server.port)
    if console.printsJSON {
      try console.object { writer in
        writer.member("path", path)
        writer.member("url", url)
      }
    } else {
      try console.line("Serving \(KeyText.shown(path.utf8)) at \(url)")
    }
    try console.flush()
  }

  /// Prints a line for each request, until a signal ends the process. What has been answered is in
  /// the file by then.
  func run() throws -> Never {
    while true {
      let (served, omitted) = lines.next()
      for one in served { try ServedLines.print(one, on: console) }
      if omitted > 0 {
        if console.printsJSON {
          try console.object { $0.member("omitted", omitted) }
        } else {
          try console.line("\(omitted) more")
        }
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

/// The lines about requests that are not printed yet. Requests are served by many threads, but only
/// one prints. If it cannot print fast enough, lines are left out.
final class ServedLines: Sendable {
  private struct State {
    var served: [ServerConnection.Served] = []
    /// The number of requests without a line.
    var omitted = 0
  }

  /// The greatest number of lines that wait.
  static let mostWaiting = 10_000
  /// The greatest length of a target in a line for people, in bytes.
  private static let longestTarget = 500

  private let state = Guarded(State())
  private let signal = DispatchSemaphore(value: 0)

  func add(_ served: ServerConnection.Served) {
    let isFirst = state.withLock { state in
      guard state.served.count < ServedLines.mostWaiting else {
        state.omitted += 1
        return false
      }
      state.served.append(served)
      return state.served.count == 1
    }
    if isFirst { signal.signal() }
  }

  /// Waits for at least one line, and takes all; and the number of those that were left out after
  /// them.
  func next() -> (served: [ServerConnection.Served], omitted: Int) {
    signal.wait()
    return state.withLock { state in
      defer { state = State() }
      return (state.served, state.omitted)
    }
  }

  /// Prints the line about a request. Methods and targets are visible characters of ASCII.
  static func print(_ served: ServerConnection.Served, on console: Console) throws {
    guard !console.printsJSON else {
      return try console.object { writer in
        writer.member("method", served.method)
        writer.member("target", served.target)
        writer.member("status", served.status)
        writer.member("length", served.length)
        writer.optional("user", text: served.user)
        writer.member("address", served.address)
      }
    }
    var target = served.target
    if target.utf8.count > longestTarget { target = target.prefix(longestTarget) + "..." }
    let user = served.user.map { " " + KeyText.shown($0.utf8) } ?? ""
    try console.line("\(served.method) \(target) \(served.status) \(served.length)\(user)")
  }
}
