import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

extension OptionDescription {
  static let parameter = OptionDescription(
    name: "--param", value: "NAME=VALUE",
    summary: "the value of $NAME: JSON, or plain text; can be given again", repeats: true)
}

extension CommandDescription {
  static let query = CommandDescription(
    name: "query",
    summary: "query documents in SQL++",
    operands: [
      .database, OperandDescription(name: "STATEMENT", summary: "the query: SELECT ... FROM ..."),
    ],
    options: [.parameter, .explain, .pretty, .compactJSON],
    discussion: [
      "SELECT [DISTINCT] [RAW] columns FROM collection [UNNEST array AS name] WHERE ... GROUP BY ... HAVING ... "
        + "ORDER BY ... LIMIT ... OFFSET ..., as in Couchbase Lite. _ is the only collection, or _default of "
        + "several. "
        + "* gives documents under the name of their collection, and name.* their members. "
        + "After RAW or VALUE there is one column, and rows are its values instead of objects.",
      "Conditions: = != < <= > >=, IN, LIKE, BETWEEN, IS [NOT] NULL, IS [NOT] MISSING, IS [NOT] VALUED, "
        + "ANY x IN array SATISFIES ... END, EVERY, EXISTS, AND, OR, NOT, CASE. Aggregates: COUNT SUM AVG MIN "
        + "MAX. meta() has id, sequence, expiration and revisionID.",
      "A member that a document does not have is missing, which is not null; comparisons with either are not true. "
        + "Each row is one line of JSON, and indented on a terminal. A sort, GROUP BY or DISTINCT that needs "
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
    let program = try SQLProgram(arguments)
    try DocumentDatabase.reading(arguments).closing { database in
      let isDefault = program.collection == CollectionHandle.defaultName
      let collection = try database.collection(
        isDefault ? database.usualCollectionName() : program.collection)
      if arguments.has(.explain) {
        let reads = try database.reads(collection)
        let plan = try reads.explain(program)
        try console.plan(plan, of: collection)
        return
      }
      var listing = ResultListing(
        console, collection: collection.name, name: "rows", emptyNote: "The statement gives no rows.")
      listing.begin()
      let read = try database.reads(collection).query(program) { row in
        try listing.add(row)
        return true
      }
      try listing.end(read: read)
    }
    return .success
  }
}

extension SQLProgram {
  fileprivate init(_ arguments: Arguments) throws {
    let text = try arguments.text(1)
    var parameters: [String: FleeceElement] = [:]
    for pair in try arguments.texts(of: .parameter) {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].isEmpty else {
        throw Failure.usage("--param takes NAME=VALUE", advice: "Write --param year=1975 for $year.")
      }
      let name = String(parts[0])
      guard parameters[name] == nil else { throw Failure.usage("--param gives \(name) twice") }
      parameters[name] = try Self.value(String(parts[1]))
    }
    do throws(QueryError) {
      try self.init(SQLStatement(parsing: text), parameters: parameters)
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
