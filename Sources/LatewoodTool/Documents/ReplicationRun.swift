import Dispatch
import LatewoodConcurrency
import LatewoodDevice
import LatewoodDocuments
import LatewoodHTTP
import LatewoodNetwork
import LatewoodReplicator
import LatewoodStore

/// One run of `latewood replicate`: its two sides, and the replication between them.
struct ReplicationRun {
  /// The result of a run.
  struct Outcome {
    var status: ReplicationStatus
    /// The first of the revisions that the target refuses.
    var failures: [ReplicationFailure]
    var microseconds: UInt64
  }

  private static let failureLimit = 100
  private let console: Console
  private let source, target: Side
  private let setup: ReplicationSetup
  private let creates: Bool

  init(_ arguments: Arguments, _ console: Console) throws {
    self.console = console
    creates = arguments.has(.create)
    var setup = ReplicationSetup()
    setup.isContinuous = arguments.has(.continuous)
    // A continuous replication waits for the other side without a limit.
    setup.retries.limit = setup.isContinuous ? nil : 4
    let ids = try arguments.texts(of: .documentID)
    if !ids.isEmpty { setup.filter.ids = ids }
    setup.filter.selector = arguments.bytes(of: .selector)
    self.setup = setup
    let collection = try Self.collection(.documentCollection, arguments)
    let targetCollection = try Self.collection(.targetCollection, arguments) ?? collection
    if arguments.operand(0) == arguments.operand(1), collection == targetCollection {
      throw Failure.usage("SOURCE and TARGET are the same collection")
    }
    source = try Side.open(arguments, console, 0, collection, .openExisting)
    do {
      target = try Side.open(
        arguments, console, 1, targetCollection ?? source.collectionName,
        creates ? .openOrCreate : .openExisting)
    } catch {
      source.abandon()
      throw error
    }
  }

  private static func collection(
    _ option: OptionDescription, _ arguments: Arguments
  ) throws -> String? {
    guard let name = try arguments.text(of: option) else { return nil }
    if let objection = NameRules.objection(toCollection: name) {
      throw Failure.usage("the name of the collection \(objection)")
    }
    return name
  }

  /// Replicates, and closes both sides.
  func finish() throws -> Outcome {
    let result: Result<Outcome, any Error>
    do { result = .success(try replicate()) } catch { result = .failure(error) }
    guard case .success(let outcome) = result else {
      source.abandon()
      target.abandon()
      return try result.get()
    }
    do { try source.close() } catch {
      target.abandon()
      throw error
    }
    try target.close()
    return outcome
  }

  private func replicate() throws -> Outcome {
    let failures = Guarded<[ReplicationFailure]>([])
    let status = Guarded(ReplicationStatus())
    let (from, to) = (try source.peer(creates: false), try target.peer(creates: creates))
    let replication = Replication(
      from: from, to: to, setup, onStatus: { next in status.withLock { $0 = next } },
      onFailure: { failure in
        failures.withLock { if $0.count < Self.failureLimit { $0.append(failure) } }
      })
    let start = MonotonicClock.nanoseconds
    let ended = try waiting(status) { try await replication.run() }
    return Outcome(
      status: ended, failures: failures.withLock { $0 },
      microseconds: (MonotonicClock.nanoseconds - start) / 1000)
  }

  /// Runs `body` in a task and shows its progress until it ends.
  private func waiting(
    _ status: Guarded<ReplicationStatus>,
    _ body: @escaping @Sendable () async throws -> ReplicationStatus
  ) throws -> ReplicationStatus {
    let result = Guarded<Result<ReplicationStatus, any Error>?>(nil)
    let done = DispatchSemaphore(value: 0)
    Task(executorPreference: QueueExecutor("latewood.replicate")) {
      let ended: Result<ReplicationStatus, any Error>
      do { ended = .success(try await body()) } catch { ended = .failure(error) }
      result.withLock { $0 = ended }
      done.signal()
    }
    let progress = Progress("Replicating", on: console)
    while done.wait(timeout: .now() + .milliseconds(100)) == .timedOut {
      let now = status.withLock { $0 }
      let total = now.pending.map { UInt64(now.compared) + UInt64(clamping: $0) } ?? 0
      try progress.update(UInt64(now.compared), of: total) { Quantity.count($0, "change", "changes") }
    }
    try progress.finish()
    guard let ended = result.withLock({ $0 }) else { throw CancellationError() }
    return try ended.get()
  }
}

extension ReplicationRun {
  /// Whether a side is the URL of a server, and not the path of a file.
  static func isURL(_ side: String) -> Bool {
    side.utf8.starts(with: "http://".utf8) || side.utf8.starts(with: "https://".utf8)
  }

  /// One side: a collection of a file, or a database of a server.
  enum Side: Sendable {
    case file(DocumentDatabase, collection: String)
    case server(CouchDBPeer, HTTPClient)

    /// The collection; nil for a server.
    var collectionName: String? {
      if case .file(_, let name) = self { name } else { nil }
    }

    /// - Parameter collection: nil for the usual one.
    static func open(
      _ arguments: Arguments, _ console: Console, _ index: Int, _ collection: String?, _ mode: Store.OpenMode
    ) throws -> Side {
      let text = try arguments.text(index)
      guard ReplicationRun.isURL(text) else {
        let database = try DocumentDatabase.open(path: text, mode, waiting: try arguments.lockTimeout())
        do { return .file(database, collection: try collection ?? database.usualCollectionName()) } catch {
          do throws(DatabaseError) { try database.store.close() } catch {}
          throw error
        }
      }
      let url: HTTPURL
      do throws(HTTPError) { url = try HTTPURL(parsing: text) } catch { throw Failure.usage(error.reason) }
      if url.credentials != nil {
        throw Failure.usage(
          "a URL on the command line can be seen by other users, so it must not contain credentials",
          advice: "Put NAME:PASSWORD into a file that only you can read, and give it by --credentials.")
      }
      if url.origin.isSecure {
        throw Failure(
          .cannotOpen, code: "unsupported", "https:// is not supported by this command",
          advice: "Use http:// to a tunnel, such as `ssh -L`, or a program with LatewoodReplication.")
      }
      let client = HTTPClient(origin: url.origin, connector: SocketConnector())
      let credentials = try credentials(arguments, console).map { CouchDBAuthentication.session($0) }
      var options = CouchDBPeer.Options()
      options.createsDatabase = mode == .openOrCreate
      return .server(
        CouchDBPeer(url, transport: client, authentication: credentials, options: options), client)
    }

    private static func credentials(
      _ arguments: Arguments, _ console: Console
    ) throws -> BasicCredentials? {
      let text: String
      if let path = try arguments.text(of: .credentials) {
        let file = try ImportSource(path: path, console: console)
        guard file.length <= 4096 else {
          throw Failure.badInput("the file with the credentials is \(Quantity.bytes(file.length)) long")
        }
        text = String(decoding: try file.readAll(), as: UTF8.self)
      } else if let variable = CurrentProcess.environmentVariable("LATEWOOD_CREDENTIALS") {
        text = variable
      } else {
        return nil
      }
      let line = text.prefix { !$0.isNewline }
      guard let colon = line.firstIndex(of: ":"), colon != line.startIndex else {
        throw Failure.badInput(
          "the credentials have no name and password", advice: "The first line must be NAME:PASSWORD.")
      }
      return BasicCredentials(
        name: String(line[..<colon]), password: String(line[line.index(after: colon)...]))
    }

    func peer(creates: Bool) throws -> any ReplicationPeer {
      switch self {
      case .server(let peer, _): return peer
      case .file(let database, let name):
        guard creates else { return CollectionPeer(database.store, try database.collection(name)) }
        return CollectionPeer(database.store, try database.store.createCollection(name))
      }
    }

    func close() throws {
      switch self {
      case .server(_, let client): client.close()
      case .file(let database, _):
        try database.store.close()
      }
    }

    /// Closes the side after an error, which takes precedence over an error of closing.
    func abandon() { do { try close() } catch {} }
  }
}

extension Failure {
  init(_ error: ReplicationError) {
    if let database = error.database {
      self.init(database)
      return
    }
    let exitCode: ExitCode =
      switch error.code {
      case .unauthorized, .forbidden, .notFound, .unsupported: .cannotOpen
      case .invalidParameter: .badInput
      case .unreachable, .timedOut, .unavailable, .unexpectedAnswer, .insecure, .conflict, .database:
        .inputOutput
      }
    self.init(exitCode, code: error.code.rawValue, error.message, advice: error.advice)
  }
}
