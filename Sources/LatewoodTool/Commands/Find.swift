import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodStore
import LatewoodText

extension OptionDescription {
  static let words = OptionDescription(
    name: "--text", value: "QUERY", summary: "find words by a full-text index, the best documents first")
  static let textIndex = OptionDescription(
    name: "--text-index", value: "NAME", summary: "with --text, if there are several full-text indexes")
  static let sort = OptionDescription(
    name: "--sort", value: "FIELDS",
    summary: "sort by these, separated by commas: year:desc,title; by id if not given")
  static let fields = OptionDescription(
    name: "--fields", value: "FIELDS", summary: "print only these, separated by commas; a.b looks inside a")
  static let skip = OptionDescription(
    name: "--skip", value: "NUMBER", summary: "leave out this many at the beginning")
  static let countOnly = OptionDescription(
    name: "--count", summary: "print only how many documents match")
  static let explain = OptionDescription(
    name: "--explain", summary: "print how they would be found, and which index would help")
}

extension CommandDescription {
  static let find = CommandDescription(
    name: "find",
    summary: "find documents by their contents",
    operands: [
      .database,
      OperandDescription(
        name: "SELECTOR", summary: "what to find, in JSON; all documents if not given", isOptional: true),
    ],
    options: [
      .documentCollection, .words, .textIndex, .sort, .fields, .limit, .skip, .countOnly, .explain, .pretty,
      .compactJSON,
    ],
    discussion: [
      "Selectors are those of CouchDB's Mango: an object of fields and conditions, all of which must hold. "
        + "A bare value means that the field is equal to it; a field that is missing matches nothing but "
        + "{\"$exists\": false}. _id and _rev are fields, too, and a.b, a[0] or a.0 look inside.",
      "Conditions: $eq $ne $lt $lte $gt $gte, $in $nin, $exists, $type, $size, $mod, $regex, $beginsWith, "
        + "$all, $elemMatch, $allMatch, $keyMapMatch; and around them $and $or $nor $not. "
        + "{\"$text\": \"words\"} finds words by a full-text index.",
      "A query of --text is a list of words, all of which must occur, \"phrases in quotes\", beginnings such as "
        + "astro*, AND, OR, NOT and parentheses, title:word in one field, and NEAR(word word, 5). "
        + "The best documents come first, unless --sort is given.",
      "Values of all types have one order: null, false, true, numbers, strings by their bytes, arrays, "
        + "objects. Each document is one line of JSON, and indented on a terminal. "
        + "Every document is read unless the selector has "
        + "a condition on _id, or an index helps: see `latewood help index`.",
    ],
    examples: [
      ExampleDescription(
        line: "latewood find films.latewood '{\"year\":{\"$gt\":1975}}' --sort year,title",
        explanation: "The films after 1975, the oldest first."),
      ExampleDescription(
        line: "latewood find films.latewood '{\"cast\":{\"$in\":[\"Cher\"]}}' --fields title",
        explanation: "The films that Cher appears in."),
      ExampleDescription(
        line: "latewood find films.latewood --text 'space NOT alien' --limit 10",
        explanation: "The ten films that are best described by a word, without those that have another."),
      ExampleDescription(
        line: "latewood find films.latewood '{\"genres\":{\"$size\":0}}' --count",
        explanation: "How many films have no genre."),
    ],
    json: [
      #"{"collection":"NAME","documents":[{...}, ...],"count":NUMBER,"read":NUMBER}"#,
      #"count: documents found; read: documents examined;"#,
      #"with --count without documents;"#,
      #"with --explain {"collection":"NAME","indexes":["NAME", ...],"#,
      #"  "candidates":NUMBER,"filters":BOOLEAN,"sorts":BOOLEAN,"#,
      #"  "suggestion":"FIELDS" or null}"#,
    ]
  ) { arguments, console in
    try console.chooseLayout(arguments)
    let request = try FindRequest(arguments)
    let fields = try FindFields.paths(of: .fields, arguments)
    if arguments.has(.countOnly), fields != nil || arguments.has(.sort) {
      throw Failure.usage("--count prints no documents, so it cannot be used with --fields or --sort")
    }
    if arguments.has(.explain), arguments.has(.countOnly) || fields != nil {
      throw Failure.usage("--explain prints no documents, so it cannot be used with --count or --fields")
    }
    try DocumentDatabase.reading(arguments).closing { database in
      let collection = try database.collection(arguments)
      if arguments.has(.explain) {
        try explain(request, database, collection, on: console)
        return
      }
      if arguments.has(.countOnly) {
        let counted = try database.reads(collection).counted(request)
        if counted.count == 0, request.limit > 0 {
          try UnknownMembers.note(request.predicate, in: database.reads(collection), on: console)
        }
        return try console.resultCount(counted.count, read: counted.read, collection: collection.name)
      }
      var listing = ResultListing(
        console, collection: collection.name, name: "documents",
        emptyNote: "No documents were found in the collection \(collection.name).")
      listing.begin()
      let projection = fields.map { Projection($0) }
      let read = try database.reads(collection).find(request) { document in
        var fleece = FleeceWriter()
        if let projection {
          try projection.write(document, to: &fleece)
        } else {
          try document.write(to: &fleece)
        }
        try listing.add(FleeceBody(written: fleece.finish()))
        return true
      }
      try listing.end(read: read)
      if listing.isEmpty, request.limit > 0 {
        try UnknownMembers.note(request.predicate, in: database.reads(collection), on: console)
      }
    }
    return .success
  }

  private static func explain(
    _ request: FindRequest, _ database: DocumentDatabase, _ collection: CollectionHandle,
    on console: Console
  ) throws {
    try console.plan(try database.reads(collection).explain(request), of: collection)
  }
}

extension Console {
  /// Prints the plan for finding documents.
  func plan(_ plan: QueryPlan, of collection: CollectionHandle) throws {
    guard printsJSON else { return try line("\(plan)") }
    try object { writer in
      writer.member("collection", collection.name)
      writer.array("indexes", plan.indexes) { writer, index in writer.text(index) }
      writer.member("candidates", plan.candidates)
      writer.member("filters", plan.filters)
      writer.member("sorts", plan.sorts)
      writer.optional("suggestion", text: plan.suggestion)
    }
  }
}

extension FindRequest {
  /// Creates the request for the arguments.
  fileprivate init(_ arguments: Arguments) throws {
    var predicate = try FindRequest.predicate(arguments)
    let index = try arguments.text(of: .textIndex)
    let query = try arguments.text(of: .words)
    if let query {
      do throws(TextQueryError) { _ = try TextQueryParser.parse(query) } catch {
        throw Failure(error, in: query)
      }
      predicate = .all([.text(TextCondition(index: index ?? "", .query(query))), predicate])
    } else if index != nil {
      throw Failure.usage("--text-index is only for --text")
    }
    self.init(predicate)
    order = try FindFields.order(arguments)
    if query != nil, order.isEmpty, !arguments.has(.countOnly) { ranking = index ?? "" }
    limit = Int(clamping: try arguments.number(of: .limit) ?? .max)
    skip = Int(clamping: try arguments.number(of: .skip) ?? 0)
  }

  private static func predicate(_ arguments: Arguments) throws -> Predicate {
    guard let bytes = arguments.operand(1) else { return .always(true) }
    let text = try Arguments.text(bytes, what: "the selector")
    do throws(QueryError) {
      return try MangoParser.predicate(json: text)
    } catch {
      throw Failure(
        .badInput, code: error.kind.rawValue, error.description,
        advice: "See `latewood help find` for the syntax of selectors.")
    }
  }
}

extension Failure {
  /// Creates the failure for a malformed full-text query, with its line and a caret below the
  /// position.
  fileprivate init(_ error: TextQueryError, in query: String) {
    let position = TextPosition(offset: error.offset, in: Array(query.utf8))
    self.init(
      .badInput, code: QueryError.Kind.invalidText.rawValue,
      "the full-text query is not valid: \(error.reason)",
      advice: "See `latewood help find` for the syntax of --text.")
    line = position.line
    column = position.column
    excerpt = position.excerpt(of: query)
  }
}

/// The lists of fields in the arguments.
enum FindFields {
  /// Returns the paths in an option; nil if it is not given.
  static func paths(of option: OptionDescription, _ arguments: Arguments) throws -> [FieldPath]? {
    guard let text = try arguments.text(of: option) else { return nil }
    var paths: [FieldPath] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      paths.append(try path(part, of: option))
    }
    return paths
  }

  static func order(_ arguments: Arguments) throws -> [FindRequest.Order] {
    guard let text = try arguments.text(of: .sort) else { return [] }
    var order: [FindRequest.Order] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let isDescending = part.hasSuffix(":desc")
      let name = isDescending ? part.dropLast(5) : part.hasSuffix(":asc") ? part.dropLast(4) : part
      order.append(FindRequest.Order(try path(name, of: .sort), isDescending: isDescending))
    }
    return order
  }

  private static func path(_ text: Substring, of option: OptionDescription) throws -> FieldPath {
    do throws(QueryError) {
      return try FieldPath(parsing: String(text))
    } catch {
      throw Failure.usage(
        "\(option.name): \(error.description)", advice: "Write fields with commas between: year,title")
    }
  }
}
