import LatewoodConcurrency
import LatewoodDocuments
import LatewoodHTTP
import LatewoodReplicator

/// Arbitrary bytes as the answer of a CouchDB to every request of a replication: pages and lines of
/// changes, missing revisions, documents, outcomes of a batch, and local documents.
///
/// A call returns, or throws an error of the replication. A document that was read and is sent
/// again is read back as the same revision.
final class CouchDBTarget: FuzzTarget {
  private static let id = "a"
  private static let revision = "1-00000000000000000000000000000001"

  var words: [[UInt8]] {
    [
      #""results":["#, #""last_seq":"2-x""#, #""pending":0"#, #""seq":1"#, #""id":"a""#,
      #""changes":[{"rev":""#,
      #""deleted":true"#, "\n", "{}", "[]", #""docs":[{"ok":{"#, #""error":{"error":"not_found"}"#,
      #""_id":"a""#, #""_rev":"1-00000000000000000000000000000001""#, #""_revisions":{"start":1,"ids":["#,
      #""_attachments":{"b":{"#, #""content_type":"a/b""#, #""length":3"#, #""revpos":1"#,
      #""digest":"md5-""#,
      #""encoding":"gzip","encoded_length":2"#, #""missing":["#, #""possible_ancestors":["#,
      #""update_seq":"1-x""#, #""instance_start_time":"0""#, #""rev":"0-1""#, #""error":"forbidden""#,
      "9223372036854775807", "18446744073709551616", "-1", "1e400", "null",
    ]
    .map { Array($0.utf8) }
  }

  func run(_ input: UnsafeRawBufferPointer) {
    let server = AnsweringTransport(Array(input))
    TaskQueue.run {
      guard let url = try? HTTPURL(parsing: "http://h/db"), let known = try? RevisionID(Self.revision) else {
        find("the target is broken")
      }
      let peer = CouchDBPeer(url, transport: server)
      await Self.call { _ = try await peer.information() }
      for isContinuous in [false, true] {
        var request = ChangesRequest(since: .start)
        request.isContinuous = isContinuous
        await Self.call { try await Self.follow(peer.changes(request)) }
      }
      await Self.call { _ = try await peer.missing([DocumentRevisions(Self.id, [known])]) }
      await Self.call { _ = try await peer.localDocument("a") }
      await Self.call { _ = try await peer.putLocalDocument("a", body: [0x70, 0], revision: nil) }
      await Self.call { _ = try await peer.ensureDurable() }
      await Self.call {
        let found = try await peer.revisions([RevisionRequest(Self.id, revisions: [known])])
        for revision in found {
          if revision.id != Self.id { find("a document that was not requested") }
          if revision.history.isEmpty { find("a revision without a history") }
          await Self.sendAgain(revision, url)
        }
        let outcomes = try await peer.insert(found + found)
        if outcomes.count != 2 * found.count { find("the number of outcomes is not that of revisions") }
      }
    }
  }

  private static func call(_ body: () async throws -> Void) async {
    do { try await body() } catch {
      if !(error is ReplicationError) { find("an error of another type: \(error)") }
    }
  }

  /// Reads a few pages. Every page of an endless feed is the same.
  private static func follow(_ feed: any ChangeFeed) async throws {
    defer { feed.close() }
    for _ in 0..<3 {
      guard let page = try await feed.next(limit: 4) else { return }
      for change in page.changes where change.leaves.contains(where: { $0.generation == 0 }) {
        find("a revision of generation 0")
      }
    }
  }

  /// Sends a revision to a server, and requests it again.
  private static func sendAgain(_ revision: PeerRevision, _ url: HTTPURL) async {
    // The content of an attachment would be another request.
    var revision = revision
    revision.attachments = []
    let transport = AnsweringTransport(Array(#"[]"#.utf8))
    let peer = CouchDBPeer(url, transport: transport)
    do {
      guard try await peer.insert([revision]) == [.stored], let sent = transport.lastBody else {
        find("a revision that was read is not sent")
      }
      let text = String(decoding: sent, as: UTF8.self)
      guard let start = text.range(ofFirst: #""docs":["#) else { find("a batch without documents") }
      let document = text[start...].dropLast(2)
      transport.answer(Array(#"{"results":[{"id":"a","docs":[{"ok":\#(document)}]}]}"#.utf8))
      let again = try await peer.revisions([RevisionRequest(id, revisions: [revision.history[0]])])
      guard again.count == 1, again[0].id == revision.id, again[0].history == revision.history,
        again[0].isDeleted == revision.isDeleted, again[0].body == revision.body
      else { find("a revision is read back as another: \(text)") }
    } catch { find("a revision that was read cannot be sent and read again: \(error)") }
  }
}

extension String {
  /// Returns the end of the first occurrence of a text.
  fileprivate func range(ofFirst text: String) -> Index? {
    indices.first { self[$0...].hasPrefix(text) }.map { index($0, offsetBy: text.count) }
  }
}

/// A server that gives the same answer to every request.
private final class AnsweringTransport: HTTPTransport {
  private struct State {
    var answer: [UInt8]
    var lastBody: [UInt8]?
  }
  private let state: Guarded<State>

  init(_ answer: [UInt8]) { state = Guarded(State(answer: answer)) }

  /// The body of the last request that had one.
  var lastBody: [UInt8]? { state.withLock { $0.lastBody } }

  func answer(_ bytes: [UInt8]) { state.withLock { $0.answer = bytes } }

  func send(_ request: HTTPRequest) async throws -> any HTTPResponse {
    let answer = state.withLock { state in
      if case .bytes(let body) = request.body { state.lastBody = body }
      return state.answer
    }
    return AnsweringResponse(answer)
  }

  func close() {}
}

private final class AnsweringResponse: HTTPResponse {
  let head = HTTPResponseHead(200)
  private let pieces: Guarded<[[UInt8]]>

  init(_ answer: [UInt8]) {
    let middle = answer.count / 2
    pieces = Guarded([Array(answer[..<middle]), Array(answer[middle...])].filter { !$0.isEmpty })
  }

  func next() async throws -> [UInt8]? {
    pieces.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }

  func close() {}
}

/// Runs an async function on the calling thread, whose processor time and stack are limited.
private final class TaskQueue: TaskExecutor {
  private let jobs = Guarded<[UnownedJob]>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  static func run(_ body: @escaping @Sendable () async -> Void) {
    let queue = TaskQueue()
    let hasEnded = Guarded(false)
    Task(executorPreference: queue) {
      await body()
      hasEnded.withLock { $0 = true }
    }
    while !hasEnded.withLock({ $0 }) {
      guard let job = queue.jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else {
        find("a call waits for nothing")
      }
      job.runSynchronously(on: queue.asUnownedTaskExecutor())
    }
  }
}
