import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP

/// Answers the requests of CouchDB's HTTP API from the collections of a file.
///
/// Each collection is a database; `DatabaseNames` maps the names. There are no sockets, threads or
/// clocks here: a request is a value with its whole body, and so is the response.
///
/// ```
/// DatabaseService            finds the endpoint of a path
///   AccessRules              who may do what
///   ServerEndpoints          /, /_up, /_uuids, /_all_dbs
///   SessionEndpoint          /_session
///   ConsoleEndpoints         /_utils/: the page for browsers
///   DatabaseEndpoints        /{db}, its limits, _ensure_full_commit
///   DocumentEndpoints        /{db}/{id}: read, edit, delete, copy; open_revs
///   BulkEndpoints            _bulk_docs, _bulk_get, _revs_diff
///   ListEndpoints            _all_docs, _design_docs, _local_docs
///   ChangesEndpoint          _changes; ChangesFeed waits for changes
///   FindEndpoints            _find, _index
///   LocalEndpoints           _local/{id}
/// ```
///
/// It differs from CouchDB where a file has other properties: there are no shards and quorums;
/// users have the same rights in all databases; functions in design documents are stored and never
/// run; ids have at most 8,000 bytes; and `_revs_limit` applies to all databases of the file.
///
/// Thread safety: all calls from any thread. A call blocks its thread while it reads or commits.
package final class DatabaseService: Sendable {
  let store: DocumentStore
  private let settings: Settings

  /// The facts that a service does not find in the file.
  package struct Settings: Sendable {
    /// The version of the program, for the answer to `GET /`.
    package var version: String
    /// The time at which the service began, in seconds since 1970. Clients that see another time
    /// know that writes that were not durable may have been lost.
    package var startTime: UInt64
    /// Returns random numbers, for ids and boundaries.
    package var random: @Sendable () -> UInt64
    /// Suspends the task of a feed that waits.
    package var sleep: ChangesFeed.Sleep = { try await Task.sleep(for: $0) }
    /// The users; nil if everybody may do everything.
    package var users: UserDirectory?

    package init(version: String, environment: Environment = .system) {
      self.version = version
      startTime = environment.now() / 1_000_000
      random = environment.random
    }
  }

  package init(_ store: DocumentStore, _ settings: Settings) {
    self.store = store
    self.settings = settings
  }

  /// Answers a request. Suspends the task while a password is checked.
  package func answer(_ request: APIRequest) async -> APIResponse {
    if SessionEndpoint.isLogin(request) { return await SessionEndpoint(users).logIn(request) }
    return respond(to: request)
  }

  /// Answers a request other than that for a session.
  // Not inlined, because Swift 6.3 cannot optimize an async function with typed errors in it.
  @inline(never) package func respond(to request: APIRequest) -> APIResponse {
    let response: APIResponse
    do {
      response = try answer(APICall(request, request.user ?? (users == nil ? .everybody : .nobody)))
    } catch {
      response = APIResponse(APIError(error))
    }
    return request.method == "HEAD" ? response.withoutBody() : response
  }

  var users: UserDirectory? { settings.users }
  var version: String { settings.version }
  var sleep: ChangesFeed.Sleep { settings.sleep }
  var startTime: String { String(settings.startTime) }

  /// Returns 32 random hexadecimal digits.
  func makeID() -> String { hexadecimal([settings.random(), settings.random()]) }

  func hexadecimal(_ words: [UInt64]) -> String {
    words.map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  // MARK: - Paths

  private func answer(_ call: APICall) throws -> APIResponse {
    if let objection = AccessRules.objection(to: call) { throw objection }
    guard let first = call.path.first else { return try ServerEndpoints(self).root(call) }
    if first == ConsoleEndpoints.name { return try ConsoleEndpoints(self).answer(call) }
    if first.utf8.first == UInt8(ascii: "_"), first != CollectionHandle.defaultName,
      let response = try ServerEndpoints(self).answer(first, call)
    {
      return response
    }
    if call.path.count == 1 { return try DatabaseEndpoints(self).answer(first, call) }
    let database = try database(first, call.user)
    let name = call.path[1]
    if name.utf8.first == UInt8(ascii: "_") {
      if let response = try answer(name, database, call) { return response }
    }
    return try document(Array(call.path[1...]), database, call)
  }

  /// Answers a path with a reserved name after the database; nil if the name is not one of a
  /// resource, but may begin an id.
  private func answer(_ name: String, _ database: ServedDatabase, _ call: APICall) throws -> APIResponse? {
    switch name {
    case "_all_docs", "_design_docs", "_local_docs": return try ListEndpoints(database).answer(name, call)
    case "_changes": return try ChangesEndpoint(database).answer(call)
    case "_bulk_docs", "_bulk_get", "_revs_diff", "_missing_revs":
      return try BulkEndpoints(database).answer(name, call)
    case "_ensure_full_commit", "_revs_limit", "_purged_infos_limit", "_compact", "_view_cleanup",
      "_security", "_purge":
      return try DatabaseEndpoints(self).answer(name, database, call)
    case "_find", "_index", "_explain": return try FindEndpoints(database).answer(name, call)
    default: return nil
    }
  }

  /// Answers a path that names a document, and perhaps an attachment.
  private func document(_ path: [String], _ database: ServedDatabase, _ call: APICall) throws -> APIResponse {
    var path = path
    let first = path[0]
    if first == "_local" || first == "_design", path.count > 1 {
      path.removeFirst()
      path[0] = "\(first)/\(path[0])"
    } else if call.method == "GET" || call.method == "HEAD",
      let name = first.dropping(bytes: NameRules.designPrefix)
    {
      let rest = ([name] + path.dropFirst()).map(PercentCoding.encode).joined(separator: "/")
      let target = "/\(PercentCoding.encode(call.path[0]))/_design/\(rest)\(call.queryText)"
      return APIResponse(301, fields: HTTPFields([("Location", target)]))
    }
    let id = path.removeFirst()
    if id.begins(withBytes: LocalEndpoints.prefix) {
      return try LocalEndpoints(database).answer(id, hasAttachment: !path.isEmpty, call)
    }
    if first == "_design", path.first?.utf8.first == UInt8(ascii: "_") {
      throw APIError.notImplemented("functions in design documents are stored, and never run")
    }
    if path.isEmpty { return try DocumentEndpoints(database).answer(id, call) }
    return try AttachmentEndpoints(database).answer(id, path.joined(separator: "/"), call)
  }

  /// Returns a database by its name.
  ///
  /// - Throws: `APIError` 404.
  func database(_ name: String, _ user: RequestUser) throws -> ServedDatabase {
    guard let collection = DatabaseNames.collection(of: name), let handle = try store.collection(collection)
    else { throw APIError.noDatabase }
    return ServedDatabase(service: self, name: name, collection: handle, user: user)
  }
}

/// A collection that is served as a database.
struct ServedDatabase: Sendable {
  let service: DatabaseService
  let name: String
  let collection: CollectionHandle
  let user: RequestUser

  var store: DocumentStore { service.store }
  var editor: DocumentEditor { DocumentEditor(store: store, collection: collection, user: user) }

  func reads() throws -> DocumentReads { try store.reads(collection) }

  /// Runs a batch, and waits until it is as durable as the store is opened to be.
  func write<R>(_ body: (DocumentWriter) throws -> R) throws -> R { try store.write(body) }

  // MARK: - Sequences

  /// Returns the text of a sequence: its number, and the identity of the collection, so that the
  /// sequence of another database is not mistaken for one of this.
  func text(of sequence: UInt64) -> String { "\(sequence)-\(identity)" }

  private var identity: String {
    var words: [UInt64] = [0, 0]
    for (index, byte) in collection.identity.bytes.enumerated() where index < 16 {
      words[index / 8] = words[index / 8] << 8 | UInt64(byte)
    }
    return service.hexadecimal(words)
  }

  /// Returns the sequence with a text, which may be a JSON string, or `0`.
  func sequence(_ text: String) throws -> UInt64 {
    var text = text[...]
    if text.count >= 2, text.first == "\"", text.last == "\"" { text = text.dropFirst().dropLast() }
    if text == "0" { return 0 }
    guard let dash = text.firstIndex(of: "-"), text[text.index(after: dash)...] == identity,
      let number = APIQuery.natural(text[..<dash])
    else { throw APIError.badRequest("Malformed sequence supplied in 'since' parameter.") }
    // A later sequence is from before the file was restored from a backup. The changes made since
    // then are not known, so everything is new.
    return number <= (try reads().lastSequence()) ? number : 0
  }
}
