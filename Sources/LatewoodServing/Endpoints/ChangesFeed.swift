import LatewoodDocuments
import LatewoodFleece

/// A feed of changes that waits for more: the body of a response, in pieces.
///
/// ```
/// rows that are there ──> wait ──> rows ... ──> end, at the limit or the timeout
///                          └─> heartbeat, again and again
/// ```
///
/// 1. Rows are read after the sequence of the last one, so none is missed and none repeated.
/// 2. It waits only if nothing is left to read, and a change after that reading ends the wait.
///
/// One task reads a feed. It runs where that task does, and blocks while it reads the database.
package actor ChangesFeed {
  /// The form of the text.
  enum Form {
    /// One object, which ends with the first rows.
    case longPoll
    /// A line for each row.
    case continuous
    /// Server-sent events.
    case events

    var contentType: String { self == .events ? "text/event-stream" : "application/json" }
    var heartbeat: String { self == .events ? "event: heartbeat\ndata: \n\n" : "\n" }
  }

  /// Suspends the task for a time. Throws if the task is cancelled.
  package typealias Sleep = @Sendable (Duration) async throws -> Void

  /// The greatest number of rows of a piece.
  private static let pageLimit = 1000

  private let database: ServedDatabase
  private let form: Form
  private let sleep: Sleep
  private var options: ChangesOptions
  private var hasBegun = false
  private var rowCount = 0
  private var hasEnded = false

  init(_ database: ServedDatabase, _ options: ChangesOptions, _ form: Form, _ sleep: @escaping Sleep) {
    self.database = database
    self.options = options
    self.form = form
    self.sleep = sleep
  }

  /// Returns the next bytes; nil after the end. Suspends the task until there are some.
  package func next() async throws -> [UInt8]? {
    while !hasEnded {
      let page: ChangesPage
      do { page = try nextPage() } catch let error as DatabaseError where error.code == .notFound {
        return end(pending: 0)
      }
      var text = hasBegun || form != .longPoll ? [] : Array("{\"results\":[\n".utf8)
      hasBegun = true
      try append(page, to: &text)
      let isWhole = page.rows.count < ChangesFeed.pageLimit
      if options.limit == 0 || isWhole && (options.isDescending || form == .longPoll && rowCount > 0) {
        return text + end(pending: page.pending)
      }
      if !text.isEmpty { return text }
      if !isWhole { continue }
      switch try await wait() {
      case .change: continue
      case .time: return options.heartbeat == nil ? end(pending: 0) : Array(form.heartbeat.utf8)
      case .gone: return end(pending: 0)
      }
    }
    return nil
  }

  // MARK: - Rows

  // Functions with typed errors are not inlined, because Swift 6.3 cannot optimize an async
  // function with them in it.

  @inline(never) private func nextPage() throws -> ChangesPage {
    var options = options
    if !options.isDescending { options.limit = min(options.limit, ChangesFeed.pageLimit) }
    let page = try ChangesPage(options, database)
    self.options.since = page.last
    if self.options.limit < .max { self.options.limit -= page.rows.count }
    return page
  }

  @inline(never) private func append(_ page: ChangesPage, to text: inout [UInt8]) throws {
    for row in page.rows {
      var output = JSONOutput()
      try page.write(row, showsSequence: options.shows(rowCount), to: &output)
      switch form {
      case .longPoll: text += (rowCount == 0 ? "" : ",\n").utf8 + output.take()
      case .continuous: text += output.take() + Array("\n".utf8)
      case .events:
        text += Array("data: ".utf8) + output.take()
        text += "\nid: \"\(database.text(of: row.entry.sequence))\"\n\n".utf8
      }
      rowCount += 1
    }
  }

  private func end(pending: Int) -> [UInt8] {
    hasEnded = true
    let last = database.text(of: options.since)
    let start = hasBegun ? "" : "{\"results\":[\n"
    return switch form {
    case .longPoll: Array("\(start)\n],\n\"last_seq\":\"\(last)\",\"pending\":\(pending)}\n".utf8)
    case .continuous: Array("{\"last_seq\":\"\(last)\",\"pending\":\(pending)}\n".utf8)
    case .events: Array("\n".utf8)
    }
  }

  // MARK: - Waiting

  private enum Event { case change, time, gone }

  /// Waits for a change, or for the time of the next heartbeat or of the end.
  private func wait() async throws -> Event {
    let since = options.since
    guard let pages = try pages(since: since) else { return .gone }
    defer { pages.close() }
    let duration = options.heartbeat ?? options.timeout
    return try await withThrowingTaskGroup(of: Event.self) { [sleep] group in
      group.addTask { try await ChangesFeed.change(in: pages, since: since) }
      group.addTask {
        try await sleep(duration)
        return .time
      }
      defer { group.cancelAll() }
      return try await group.next() ?? .gone
    }
  }

  /// Returns pages to wait for; nil if the database is gone.
  @inline(never) private func pages(since: UInt64) throws -> FeedPages? {
    do throws(DatabaseError) {
      return try FeedPages(database.store, database.collection, since: since, isContinuous: true)
    } catch {
      if error.code == .notFound { return nil }
      throw error
    }
  }

  private static func change(in pages: FeedPages, since: UInt64) async throws -> Event {
    do {
      // The first page is there at once, and may be empty.
      while let page = try await pages.next(limit: 1) {
        if page.last > since { return .change }
      }
      // The signal of the pages is also given when the task is cancelled.
      try Task.checkCancellation()
      return .gone
    } catch let error as DatabaseError where error.code == .notFound { return .gone }
  }
}
