import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

extension OptionDescription {
  static let parameter = OptionDescription(
    name: "--param", value: "NAME=VALUE",
    summary: "the value of $NAME: JSON, or plain text; can be given again", repeats: true)
}

extension OptionDescription {
  static let csv = OptionDescription(name: "--csv", summary: "print CSV, with the columns in a header")
  static let lines = OptionDescription(
    name: "--lines", summary: "print each row as a line of JSON, as is done outside a terminal")
}

extension CommandDescription {
  static let query = CommandDescription(
    name: "query",
    summary: "query documents in SQL++",
    operands: [
      .database, OperandDescription(name: "STATEMENT", summary: "the query: SELECT ... FROM ..."),
    ],
    options: [.parameter, .explain, .csv, .lines, .pretty, .compactJSON],
    discussion: [
      "On a terminal the rows are a table, with the columns in the order of SELECT, and below it their number "
        + "and the time. If the table does not fit on the screen, PAGER or less shows it. --csv, --lines "
        + "and --json choose other forms; outside a terminal rows are lines.",
      "SELECT [DISTINCT] [RAW] columns FROM collection [UNNEST array AS name] WHERE ... GROUP BY ... HAVING ... "
        + "ORDER BY ... LIMIT ... OFFSET ..., as in Couchbase Lite. _ is the only collection, or "
        + "_default if there are several. "
        + "* gives documents under the name of their collection, and name.* their members. "
        + "After RAW or VALUE there is one column, and rows are its values instead of objects.",
      "Conditions: = != < <= > >=, IN, LIKE, BETWEEN, IS [NOT] NULL, IS [NOT] MISSING, IS [NOT] VALUED, "
        + "ANY x IN array SATISFIES ... END, EVERY, EXISTS, AND, OR, NOT, CASE. Aggregates: COUNT SUM AVG MIN "
        + "MAX. meta() has id, sequence, expiration and revisionID.",
      "A member that a document does not have is missing, which is not null; comparisons with either are not true. "
        + "SELECT 1, without FROM, has one row. A sort, GROUP BY or DISTINCT that needs "
        + "more than 64 MiB of memory reads the documents again for each further part.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood query films.latewood 'SELECT title FROM _ WHERE year>$y' --param y=75",
        explanation: "The titles of the films after a year."),
      ExampleDescription(
        line: "latewood query films.latewood 'SELECT year, COUNT(*) n FROM _ GROUP BY year'",
        explanation: "How many films each year has."),
      ExampleDescription(
        line: "latewood query films.latewood 'SELECT a, title FROM _ UNNEST _.cast AS a'",
        explanation: "The films of each actor."),
    ],
    json: [
      #"{"collection":"NAME","rows":[ROW, ...],"count":NUMBER,"read":NUMBER}"#,
      #"ROW: {...}, or any value after RAW;"#,
      #"count: rows; read: documents examined, counted each time;"#,
      #"with --explain {"collection":"NAME","indexes":["NAME", ...],"#,
      #"  "candidates":NUMBER,"filters":BOOLEAN,"sorts":BOOLEAN,"#,
      #"  "suggestion":"FIELDS" or null}"#,
    ]
  ) { arguments, console in
    try console.chooseLayout(arguments)
    let form = try RowForm(arguments, console)
    if arguments.has(.lines) { console.documents = JSONOutput(.canonical) }
    let start = MonotonicClock.nanoseconds
    let (program, statement) = try SQLProgram.program(arguments)
    try DocumentDatabase.reading(arguments).closing { database in
      let collection = try database.collection(
        statement.isOfUnderscore ? database.usualCollectionName() : program.collection)
      let reads = try database.reads(collection)
      if arguments.has(.explain) {
        guard program.readsDocuments else {
          throw Failure.usage("the statement reads no documents, so there is nothing to explain")
        }
        return try console.plan(try reads.explain(program), of: collection)
      }
      var columns = RowColumns(program, isStar: statement.isStar)
      switch form {
      case .json:
        var listing = ResultListing(
          console, collection: collection.name, name: "rows", emptyNote: "The statement returns no rows.")
        listing.begin()
        let read = try reads.query(program) { row in
          try listing.add(row)
          return true
        }
        try listing.end(read: read)
        if listing.isEmpty { try UnknownMembers.note(program.predicate, in: reads, on: console) }
      case .table:
        try list(program, reads, RowTable(console, columns, pager: Pager(console), start: start), on: console)
      case .csv:
        if columns.isOpen {
          // The header needs the members of all rows.
          try reads.query(program) { row in
            columns.learn(try columns.cells(of: row))
            return true
          }
        }
        try list(program, reads, RowCSV(console, columns), on: console)
      }
    }
    return .success
  }

  private static func list(
    _ program: SQLProgram, _ reads: DocumentReads, _ listing: some RowListing, on console: Console
  ) throws {
    var (listing, isEmpty) = (listing, true)
    do {
      try reads.query(program) { row in
        isEmpty = false
        return try listing.add(row)
      }
      try listing.end()
    } catch {
      listing.stop()
      throw error
    }
    if isEmpty { try UnknownMembers.note(program.predicate, in: reads, on: console) }
  }
}

/// The form in which `query` prints rows.
private enum RowForm {
  case table, csv
  /// JSON: one text with `--json`, or one to a row.
  case json

  init(_ arguments: Arguments, _ console: Console) throws {
    let chosen = [OptionDescription.json, .csv, .lines].filter(arguments.has)
    guard chosen.count < 2 else {
      throw Failure.usage("\(chosen[0].name) and \(chosen[1].name) do not go together")
    }
    let others: [(OptionDescription, [OptionDescription])] = [
      (.csv, [.explain, .pretty, .compactJSON]), (.lines, [.pretty]),
    ]
    for (option, excluded) in others where arguments.has(option) {
      guard let other = excluded.first(where: arguments.has) else { continue }
      throw Failure.usage("\(option.name) and \(other.name) do not go together")
    }
    if arguments.has(.csv) {
      self = .csv
    } else if !chosen.isEmpty || arguments.has(.pretty) || arguments.has(.compactJSON) {
      self = .json
    } else {
      self = console.isOutputTerminal ? .table : .json
    }
  }
}

extension SQLProgram {
  /// Returns the program of the arguments, and the statement that it is made from.
  fileprivate static func program(
    _ arguments: Arguments
  ) throws -> (program: SQLProgram, statement: SQLStatement) {
    let text = try arguments.text(1)
    var parameters: [String: FleeceElement] = [:]
    for pair in try arguments.texts(of: .parameter) {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw Failure.usage("--param takes NAME=VALUE", advice: "Write --param year=1975 for $year.")
      }
      let name = String(parts[0])
      guard parameters[name] == nil else { throw Failure.usage("--param gives \(name) twice") }
      parameters[name] = try value(String(parts[1]))
    }
    do throws(QueryError) {
      let statement = try SQLStatement(parsing: text)
      return (try SQLProgram(statement, parameters: parameters), statement)
    } catch { throw Failure(error, in: text) }
  }

  /// Returns the value of a JSON text; returns any other text as a string.
  private static func value(_ text: String) throws -> FleeceElement {
    do throws(FleeceError) { return try FleeceBody(JSON.fleece(from: text)).root } catch {}
    var writer = FleeceWriter()
    try writer.string(text)
    return try FleeceBody(written: writer.finish()).root
  }
}

extension Failure {
  /// Creates the failure for an error of a query. For a statement, includes its line with a caret
  /// below the position.
  init(_ error: QueryError, in text: String? = nil) {
    self.init(
      .badInput, code: error.kind.rawValue, error.reason,
      advice: "See `latewood help query` for the supported syntax.")
    line = error.position?.line
    column = error.position?.column
    excerpt = text.flatMap { text in error.position?.excerpt(of: text) }
  }
}
