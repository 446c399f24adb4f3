import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodQuery

/// The feed of changes: `_changes`.
///
/// Each document is listed once, at its latest change, in the order of the sequences. A sequence is
/// opaque to clients: see `ServedDatabase`.
struct ChangesEndpoint {
  private let database: ServedDatabase

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ call: APICall) throws -> APIResponse {
    try call.allow("GET,POST,HEAD")
    let options = try ChangesOptions(call, database)
    if let form = options.form {
      let feed = ChangesFeed(database, options, form, database.service.sleep)
      return APIResponse(200, fields: HTTPFields([("Content-Type", form.contentType)]), feed: feed)
    }
    let page = try ChangesPage(options, database)
    return try APIResponse { output in
      output.beginDictionary()
      output.key("results")
      output.beginArray()
      for (index, row) in page.rows.enumerated() {
        try page.write(row, showsSequence: options.shows(index), to: &output)
      }
      output.endArray()
      output.member("last_seq", database.text(of: page.last))
      output.member("pending", page.pending)
      output.endDictionary()
    }
  }
}

/// The options of a feed.
struct ChangesOptions {
  var since: UInt64 = 0
  var limit = Int.max
  var isDescending = false
  /// Whether all leaves are listed, instead of the winner alone.
  var listsLeaves = false
  var includesDocuments = false
  /// Only each row with this distance has its sequence; nil for all.
  var interval: Int?
  var view: RevisionWriter
  var filter = Filter.none
  /// The form of a feed that waits; nil for one that ends with the last change.
  var form: ChangesFeed.Form?
  /// The time between heartbeats; nil for none.
  var heartbeat: Duration?
  /// The time without a change after which a feed without heartbeats ends.
  var timeout = Duration.seconds(60)
  /// The fields of documents to show; nil for all.
  var projection: Projection?

  enum Filter {
    case none
    case ids(Set<ExactName>)
    case selector(Predicate)
    case design
  }

  init(_ call: APICall, _ database: ServedDatabase) throws {
    let query = call.query
    var body: FleeceElement?
    if call.method == "POST", !call.body.isEmpty {
      try call.requireJSON()
      body = try call.object()
    }
    view = try RevisionWriter(query)
    switch query["feed"] {
    case nil, "normal": break
    case "longpoll": form = .longPoll
    case "continuous", "live": form = .continuous
    case "eventsource": form = .events
    default:
      throw APIError.badRequest("Supported `feed` types: normal, continuous, live, longpoll, eventsource")
    }
    if let text = query["heartbeat"] {
      guard let milliseconds = text == "true" ? 60_000 : UInt32(text), milliseconds > 0 else {
        throw APIError.badRequest(
          "Invalid heartbeat value. Expecting a positive integer value (in milliseconds).")
      }
      // At least once a minute, so that the feed of a client that is gone ends.
      heartbeat = .milliseconds(Int64(min(max(milliseconds, 100), 60_000)))
    }
    if let text = query["timeout"] {
      guard let milliseconds = UInt32(text) else {
        throw APIError.badRequest("`timeout` has to be a number of milliseconds")
      }
      // As in CouchDB, a client cannot make the server wait for longer than a minute.
      timeout = min(timeout, .milliseconds(Int64(milliseconds)))
    }
    if let text = query["limit"] {
      guard let number = Int(text) else { throw APIError.badRequest("`limit` has to be a number") }
      limit = number < 0 ? .max : number
    }
    // A browser that connects again names the last event, and repeats the rest of the request.
    let resumed = form == .events ? call.fields["Last-Event-ID"] : nil
    if let text = resumed ?? query["since", "last-event-id"] {
      since = text == "now" ? try database.reads().lastSequence() : try database.sequence(text)
    }
    isDescending = query.flag("descending")
    includesDocuments = query.flag("include_docs")
    switch query["style"] {
    case nil, "main_only": break
    case "all_docs": listsLeaves = true
    default: throw APIError.badRequest("`style` has to be main_only or all_docs")
    }
    interval = query["seq_interval"].flatMap { Int($0) }.flatMap { $0 > 1 ? $0 : nil }
    try setFilter(query, body)
  }

  private mutating func setFilter(_ query: APIQuery, _ body: FleeceElement?) throws {
    switch query["filter"] {
    case nil, "": break
    case "_design": filter = .design
    case "_doc_ids":
      guard let list = try body?.element(for: "doc_ids") ?? query.json("doc_ids"),
        let ids = try list.elements()
      else { throw APIError.badRequest("`doc_ids` filter parameter is not a list of doc ids.") }
      filter = .ids(Set(try ids.compactMap { try $0.string().map { ExactName($0) } }))
    case "_selector":
      guard let body else { throw APIError.badRequest("Selector must be specified in POST payload") }
      guard let selector = try body.element(for: "selector"), try selector.kind == .dictionary else {
        throw APIError.badRequest("Selector error: expected a JSON object")
      }
      let predicate: Predicate
      do throws(QueryError) { predicate = try MangoParser.predicate(of: selector) } catch {
        throw APIError.badRequest("\(error)")
      }
      guard !predicate.hasText else { throw APIError.badRequest("$text is not supported here") }
      filter = .selector(predicate)
      let fields = try body.element(for: "fields")?.elements()?.compactMap { try $0.string() } ?? []
      if !fields.isEmpty { projection = Projection(try fields.map { try FieldPath(parsing: $0) }) }
    case let name?:
      guard name.contains("/") || name == "_view" else {
        throw APIError.badRequest("`filter` must be of the form `designname/filtername`")
      }
      throw APIError.notImplemented("functions in design documents are stored, and never run")
    }
  }

  /// Whether the row with an index has its sequence.
  func shows(_ index: Int) -> Bool {
    guard let interval else { return true }
    return index % interval == 1
  }
}

/// The rows of one answer.
struct ChangesPage {
  struct Row {
    var entry: SequenceEntry
    /// The leaves to list, the winner first.
    var leaves: [RevisionID]
  }

  private let options: ChangesOptions
  private let database: ServedDatabase
  private let reads: DocumentReads
  private(set) var rows: [Row] = []
  /// The sequence from which a feed can continue.
  private(set) var last: UInt64
  /// The number of changes after the rows.
  private(set) var pending: Int

  init(_ options: ChangesOptions, _ database: ServedDatabase) throws {
    self.options = options
    self.database = database
    reads = try database.reads()
    last = options.since
    let all = try reads.changeCount(since: options.isDescending ? 0 : options.since)
    pending = all
    guard options.limit > 0 else { return }
    var rows: [Row] = []
    try reads.forEachChange(
      since: options.isDescending ? 0 : options.since, descending: options.isDescending
    ) { [reads] entry in
      guard let row = try ChangesPage.row(entry, options, reads) else { return true }
      rows.append(row)
      return rows.count < options.limit
    }
    self.rows = rows
    if let row = rows.last, rows.count == options.limit || options.isDescending {
      last = row.entry.sequence
    } else {
      last = max(options.since, try reads.lastSequence())
    }
    if case .selector = options.filter {
      pending = try reads.changeCount(since: last)
    } else {
      // As in CouchDB, changes that these filters leave out count as pending.
      pending = all - rows.count
    }
  }

  /// Returns the row of a change; nil if the filter leaves it out.
  private static func row(
    _ entry: SequenceEntry, _ options: ChangesOptions, _ reads: DocumentReads
  ) throws -> Row? {
    switch options.filter {
    case .none: break
    case .design: guard entry.id.begins(withBytes: NameRules.designPrefix) else { return nil }
    case .ids(let ids): guard ids.contains(ExactName(entry.id)) else { return nil }
    case .selector(let predicate):
      guard let (head, body) = try reads.winner(of: entry.id), let body,
        try ChangesPage.matches(predicate, entry.id, head, body)
      else { return nil }
    }
    guard options.listsLeaves else { return Row(entry: entry, leaves: [entry.revision]) }
    let leaves = try reads.record(of: entry.id)?.tree.leaves.map(\.id) ?? [entry.revision]
    return Row(entry: entry, leaves: leaves)
  }

  /// Whether a winner matches a selector, which also sees the members that are not in the body.
  private static func matches(
    _ predicate: Predicate, _ id: String, _ head: DocumentRecord.Head, _ body: [UInt8]
  ) throws -> Bool {
    var writer = FleeceWriter()
    try writer.beginDictionary()
    try writer.key("_id")
    try writer.string(id)
    try writer.key("_rev")
    try writer.string(head.winner.description)
    if head.isDeleted {
      try writer.key("_deleted")
      try writer.boolean(true)
    }
    try FleeceBody(body).root.writeMembers(to: &writer) { _ in true }
    try writer.endDictionary()
    return try FleeceBody(written: writer.finish()).withRoot { root throws(FleeceError) in
      try predicate.matches(root)
    }
  }

  /// Writes a row as one value.
  func write(_ row: Row, showsSequence: Bool, to output: inout JSONOutput) throws {
    output.beginDictionary()
    output.key("seq")
    if showsSequence { output.text(database.text(of: row.entry.sequence)) } else { output.null() }
    output.member("id", row.entry.id)
    output.key("changes")
    output.beginArray()
    for leaf in row.leaves {
      output.beginDictionary()
      output.member("rev", leaf.description)
      output.endDictionary()
    }
    output.endArray()
    if row.entry.isDeleted { output.member("deleted", true) }
    if options.includesDocuments {
      output.key("doc")
      try options.view.writeWinner(of: row.entry.id, options.projection, reads, database.store, to: &output)
    }
    output.endDictionary()
  }
}
