import LatewoodConcurrency
import LatewoodFleece
import LatewoodHTTP

/// A feed of changes. It requests pages until it has reached the end. A continuous feed then keeps
/// a request open: the server sends each change on a separate line, and empty lines as heartbeats.
final class CouchDBChangeFeed: ChangeFeed {
  private let request: ChangesRequest
  private let requests: CouchDBRequests
  private let heartbeat: Int

  private struct State {
    var since: PeerSequence
    var hasEnded = false
    /// Whether the last page reached the end of the feed.
    var hasCaughtUp = false
    var lines: LineFeed?
    var isClosed = false
  }
  private let state: Guarded<State>

  init(_ request: ChangesRequest, _ requests: CouchDBRequests, heartbeat: Int) {
    self.request = request
    self.requests = requests
    self.heartbeat = heartbeat
    state = Guarded(State(since: request.since))
  }

  func close() {
    let lines = state.withLock { state in
      state.isClosed = true
      return state.lines
    }
    lines?.close()
  }

  func next(limit: Int) async throws -> ChangesPage? {
    let (hasEnded, hasCaughtUp) = state.withLock { ($0.hasEnded || $0.isClosed, $0.hasCaughtUp) }
    if hasEnded { return nil }
    guard hasCaughtUp else { return try await page(max(limit, 1)) }
    return try await live(max(limit, 1))
  }

  // MARK: - Pages

  private func page(_ limit: Int) async throws -> ChangesPage? {
    let since = state.withLock { $0.since }
    let response = try await send([("feed", "normal"), ("since", since.text), ("limit", "\(limit)")])
    let answer: CouchDBAnswer
    do {
      answer = try await requests.json(of: response, limit: 256 << 20)
    } catch let error as HTTPError { throw try CouchDBRequests.error(error) }
    guard let results = try answer["results"], let count = try results.count(),
      let last = try answer["last_seq"].flatMap(CouchDBPeer.sequence)
    else { throw CouchDBRequests.notCouchDB("the answer of _changes has no results") }
    let changes = try (0..<count).compactMap { try results.element(at: $0).map(CouchDBChangeFeed.change) }
    var pending: Int?
    if case .integer(let number) = try answer["pending"]?.number() { pending = Int(max(number, 0)) }
    state.withLock { state in
      state.since = last
      guard count < limit else { return }
      state.hasCaughtUp = true
      state.hasEnded = !request.isContinuous
    }
    return ChangesPage(changes, last: last, pending: pending)
  }

  /// Sends a request for changes, with the filter in its body.
  private func send(_ query: [(String, String)]) async throws -> any HTTPResponse {
    var query = query + [("style", "all_docs")]
    guard let filter = try CouchDBFilter(request) else {
      return try await requests.send("GET", ["_changes"], query: query, accepting: [200])
    }
    query.append(("filter", filter.name))
    return try await requests.send("POST", ["_changes"], query: query, body: filter.body, accepting: [200])
  }

  static func change(_ value: FleeceElement) throws -> PeerChange {
    guard let sequence = try value.element(for: "seq").flatMap(CouchDBPeer.sequence),
      let id = try value.element(for: "id")?.string(), let list = try value.element(for: "changes"),
      let count = try list.count()
    else { throw CouchDBRequests.notCouchDB("a change has no sequence, id or revisions") }
    let leaves = try (0..<count).map { index in
      guard let text = try list.element(at: index)?.element(for: "rev")?.string() else {
        throw CouchDBRequests.notCouchDB("a change has no revision")
      }
      return try CouchDBDocument.revision(text)
    }
    return PeerChange(
      sequence, id: id, leaves: leaves, isDeleted: try value.element(for: "deleted")?.boolean() ?? false)
  }

  // MARK: - Lines

  private func live(_ limit: Int) async throws -> ChangesPage? {
    do {
      let lines = try await openLines()
      var changes: [PeerChange] = []
      // Wait for the first line, then take all lines that have already arrived.
      var line = try await lines.next()
      var hasEnded = false
      while let text = line {
        if !text.isEmpty {
          let value = try CouchDBAnswer(text)
          if let last = try value["last_seq"].flatMap(CouchDBPeer.sequence) {
            state.withLock { $0.since = last }
            hasEnded = true
            break
          }
          let change = try CouchDBChangeFeed.change(value.root)
          changes.append(change)
          state.withLock { $0.since = change.sequence }
        }
        guard changes.count < limit else { break }
        line = try lines.nextArrived()
      }
      if hasEnded || lines.hasEnded {
        // The server ends a feed when it stops, or when the database is deleted. The request for
        // the next page finds out which.
        lines.close()
        state.withLock { state in
          state.lines = nil
          state.hasCaughtUp = false
        }
      }
      return ChangesPage(changes, last: state.withLock { $0.since })
    } catch let error as HTTPError {
      if state.withLock({ $0.isClosed }) { return nil }
      throw try CouchDBRequests.error(error)
    }
  }

  private func openLines() async throws -> LineFeed {
    let (open, since) = state.withLock { ($0.lines, $0.since) }
    if let open { return open }
    let response = try await send([
      ("feed", "continuous"), ("since", since.text), ("heartbeat", "\(heartbeat)"),
    ])
    let lines = LineFeed(response)
    let isClosed = state.withLock { state in
      state.lines = lines
      return state.isClosed
    }
    if isClosed { lines.close() }
    return lines
  }
}

/// The filter of a feed, as a server runs it.
private struct CouchDBFilter {
  let name: String
  let body: [UInt8]

  /// Returns nil for a request without a filter.
  init?(_ request: ChangesRequest) throws {
    guard request.ids != nil || request.selector != nil else { return nil }
    var output = JSONOutput()
    output.beginDictionary()
    if let selector = request.selector {
      name = "_selector"
      output.key("selector")
      if let ids = request.ids {
        output.beginDictionary()
        output.key("$and")
        output.beginArray()
        output.beginDictionary()
        output.key("_id")
        output.beginDictionary()
        output.key("$in")
        CouchDBFilter.write(ids, to: &output)
        output.endDictionary()
        output.endDictionary()
        try output.value(FleeceBody(written: JSON.fleece(from: selector)))
        output.endArray()
        output.endDictionary()
      } else {
        try output.value(FleeceBody(written: JSON.fleece(from: selector)))
      }
    } else {
      name = "_doc_ids"
      output.key("doc_ids")
      CouchDBFilter.write(request.ids ?? [], to: &output)
    }
    output.endDictionary()
    body = output.take()
  }

  private static func write(_ ids: [String], to output: inout JSONOutput) {
    output.beginArray()
    for id in ids { output.text(id) }
    output.endArray()
  }
}

/// The lines of a response that does not end.
// SAFETY: one task at a time reads; `close` only uses the response, which any task may close.
private final class LineFeed: @unchecked Sendable {
  private let response: any HTTPResponse
  private var bytes: [UInt8] = []
  private var offset = 0
  private(set) var hasEnded = false

  /// The greatest length of a line.
  private static let lineLimit = 16 << 20

  init(_ response: any HTTPResponse) { self.response = response }

  func close() { response.close() }

  /// Waits for the next line; nil at the end of the response.
  func next() async throws -> [UInt8]? {
    while true {
      if let line = try nextArrived() { return line }
      guard let piece = try await response.next() else {
        hasEnded = true
        return nil
      }
      bytes.removeFirst(offset)
      offset = 0
      bytes += piece
    }
  }

  /// Returns the next line if it has arrived, without its end.
  func nextArrived() throws -> [UInt8]? {
    guard let end = bytes[offset...].firstIndex(of: UInt8(ascii: "\n")) else {
      guard bytes.count - offset <= LineFeed.lineLimit else {
        throw CouchDBRequests.notCouchDB("a line of _changes is too long")
      }
      return nil
    }
    var line = bytes[offset..<end]
    offset = end + 1
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    return Array(line)
  }
}
