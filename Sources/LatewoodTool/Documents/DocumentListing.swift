import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodStore

/// The output of `doc list`: the documents of a collection by id, or the latest change first.
struct DocumentListing {
  /// The default number of documents on a terminal.
  static let screenful: UInt64 = 20

  private let console: Console
  /// The collection; before `run`, only if an argument names it.
  private var collectionName: String
  private let prefix: String
  private let startAfter: String?
  private let limit: UInt64
  private let fields: [FieldPath]?
  private let projection: Projection?
  private let onlyConflicts: Bool
  private let isBySequence: Bool
  private let before: UInt64?
  private var table: ColumnTable
  private var count: UInt64 = 0
  /// The last document that was printed.
  private var last: (id: String, sequence: UInt64)?
  private var hasMore = false

  init(_ words: ActionArguments, _ arguments: Arguments, _ console: Console) throws {
    self.console = console
    if words.operand(1) != nil {
      if arguments.has(.documentCollection) {
        throw Failure.usage("the collection is given twice, as an argument and in --collection")
      }
      collectionName = try words.text(1)
      if let objection = NameRules.objection(toCollection: collectionName) {
        throw Failure.usage("the name of the collection \(objection)")
      }
    } else {
      collectionName = try DocumentDatabase.collectionName(arguments) ?? ""
    }
    prefix = try arguments.text(of: .idPrefix) ?? ""
    startAfter = try arguments.text(of: .startAfter)
    before = try arguments.number(of: .beforeSequence)
    isBySequence = arguments.has(.bySequence)
    if isBySequence, startAfter != nil {
      throw Failure.usage(
        "--start-after continues in id order, so it cannot be combined with --by-sequence",
        advice: "With --by-sequence, continue with --before SEQUENCE.")
    }
    if !isBySequence, before != nil {
      throw Failure.usage(
        "--before requires --by-sequence", advice: "In id order, continue with --start-after ID.")
    }
    limit = try arguments.number(of: .listLimit) ?? (console.isOutputTerminal ? Self.screenful : .max)
    fields = try FindFields.paths(of: .fields, arguments)
    projection = fields.map { Projection($0) }
    onlyConflicts = arguments.has(.onlyConflicts)
    table = ColumnTable(
      console, headings: ["id"] + (fields.map { $0.map(\.text) } ?? ["revision", "", "document"]))
  }

  mutating func run(_ database: DocumentDatabase) throws {
    if collectionName.isEmpty { collectionName = try database.usualCollectionName() }
    let reads = try database.reads(try database.collection(collectionName))
    if console.printsJSON {
      console.documents.beginDictionary()
      console.documents.member("collection", collectionName)
      console.documents.key("documents")
      console.documents.beginArray()
    }
    try forEach(reads) { id, head, body in
      guard count < limit else {
        hasMore = true
        return false
      }
      count += 1
      last = (id, head.sequence)
      try add(id, head, body)
      return true
    }
    try end(reads)
  }

  private func forEach(
    _ reads: DocumentReads, _ body: (String, DocumentRecord.Head, [UInt8]?) throws -> Bool
  ) throws {
    guard isBySequence else {
      var query = query
      // One more than is printed, to find out whether there are more.
      query.limit = min(query.limit, Int(clamping: limit == .max ? limit : limit + 1))
      return try reads.forEachWholeDocument(query, body)
    }
    try reads.forEachChange(before: before, descending: true) { entry in
      guard !entry.isDeleted, entry.hasConflicts || !onlyConflicts,
        prefix.isEmpty || entry.id.utf8.starts(with: prefix.utf8),
        let (head, content) = try reads.winner(of: entry.id)
      else { return true }
      return try body(entry.id, head, content)
    }
  }

  private var query: AllDocumentsQuery {
    var query = AllDocumentsQuery()
    query.range = KeyRange.prefix(Array(prefix.utf8))
    if let startAfter = startAfter.map({ Array($0.utf8) }) {
      if case .included(let low) = query.range.lower, startAfter.lexicographicallyPrecedes(low) {
      } else {
        query.range.lower = .excluded(startAfter)
      }
      // No document follows the last id with the prefix.
      if case .excluded(let high) = query.range.upper, !startAfter.lexicographicallyPrecedes(high) {
        query.limit = 0
      }
    }
    query.onlyConflicts = onlyConflicts
    return query
  }

  private mutating func add(
    _ id: String, _ head: DocumentRecord.Head, _ body: [UInt8]?
  ) throws {
    guard let body else {
      throw Failure(.damaged, code: "damaged", "the body of the document \(id) is missing")
    }
    guard console.printsJSON else { return try addRow(id, head, body) }
    try write(id, head, body, to: &console.documents)
    try console.writeDocuments()
  }

  private func write(
    _ id: String, _ head: DocumentRecord.Head, _ body: [UInt8], to writer: inout JSONOutput
  ) throws(FleeceError) {
    writer.beginDictionary()
    writer.member("id", id)
    writer.member("revision", "\(head.winner)")
    writer.member("sequence", head.sequence)
    writer.member("conflict", head.hasConflicts)
    writer.key("document")
    if let projection {
      var fleece = FleeceWriter()
      try FleeceBody(body).withRoot { root throws(FleeceError) in
        try projection.write(Fields(id: id, head: head, root: root), to: &fleece)
      }
      try writer.value(FleeceBody(written: fleece.finish()))
    } else {
      try writer.value(FleeceBody(body))
    }
    writer.endDictionary()
  }

  private mutating func addRow(_ id: String, _ head: DocumentRecord.Head, _ body: [UInt8]) throws {
    var row = [console.isOutputTerminal ? KeyText.shown(id.utf8) : id]
    if let fields {
      row += try FleeceBody(body).withRoot { root throws(FleeceError) in
        let document = Fields(id: id, head: head, root: root)
        var cells: [String] = []
        for field in fields {
          cells.append(
            try document.withField(field) { lookup throws(FleeceError) in
              try lookup.value.map { value throws(FleeceError) in try cell(value) } ?? ""
            })
        }
        return cells
      }
    } else {
      let revision = "\(head.winner)"
      row += [
        console.isOutputTerminal ? DisplayWidth.fitted(revision, to: 14) : revision,
        head.hasConflicts ? "conflict" : "", cell(json: try JSON.text(of: body)),
      ]
    }
    try table.add(row)
  }

  /// Returns a value as a cell: a string as its text, everything else as JSON.
  private func cell(_ value: FleeceValue) throws(FleeceError) -> String {
    guard let text = try value.string().map({ Array($0.utf8) }) else {
      return cell(json: try JSON.text(of: value))
    }
    return console.isOutputTerminal ? cell(json: text) : Self.escaped(text)
  }

  /// Returns JSON text as a cell; on a terminal only the visible part.
  private func cell(json: [UInt8]) -> String {
    guard console.isOutputTerminal else { return String(decoding: json, as: UTF8.self) }
    return json.withUnsafeBytes { ValueText.shown($0.bytes, in: console.width) }
  }

  /// Returns text in which the characters that end a cell or a row are escaped as \t, \n, \r and
  /// \\.
  private static func escaped(_ text: [UInt8]) -> String {
    var result: [UInt8] = []
    for byte in text {
      switch byte {
      case UInt8(ascii: "\t"): result += Array("\\t".utf8)
      case UInt8(ascii: "\n"): result += Array("\\n".utf8)
      case UInt8(ascii: "\r"): result += Array("\\r".utf8)
      case UInt8(ascii: "\\"): result += Array("\\\\".utf8)
      default: result.append(byte)
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private func endJSON(_ writer: inout JSONOutput) {
    writer.endArray()
    writer.member("count", count)
    writer.key("next")
    if let last, hasMore {
      if isBySequence { writer.number(last.sequence) } else { writer.text(last.id) }
    } else {
      writer.null()
    }
    writer.endDictionary()
    writer.lineBreak()
  }

  private mutating func end(_ reads: DocumentReads) throws {
    if console.printsJSON {
      endJSON(&console.documents)
      return try console.writeDocuments()
    }
    try table.end()
    if count == 0, limit > 0 {
      let what = onlyConflicts ? "documents in conflict" : "documents"
      let narrowed = !prefix.isEmpty || startAfter != nil || before != nil
      try console.noteEmpty(
        "The collection \(collectionName) has no \(what)\(narrowed ? " in this range" : "").")
    }
    if hasMore, console.isOutputTerminal { try printContinuationHint(reads) }
  }

  private func printContinuationHint(_ reads: DocumentReads) throws {
    guard let last else { return }
    try console.flush()
    if isBySequence {
      return try console.noteSentence("More: continue with --before \(last.sequence).")
    }
    var rest = query
    rest.range.lower = .excluded(Array(last.id.utf8))
    let more = try reads.count(rest)
    try console.noteSentence(
      "\(Quantity.count(more)) more: continue with --start-after \(ShellQuoting.quoted(last.id)).")
  }
}

/// The fields of a listed document.
private struct Fields: FieldSource {
  let id: String
  let head: DocumentRecord.Head
  let root: FleeceValue

  func withField<R>(
    _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    let text: String
    switch path {
    case MatchedDocument.idField: text = id
    case MatchedDocument.revisionField: text = "\(head.winner)"
    default: return try body(path.lookup(in: root))
    }
    var writer = FleeceWriter()
    try writer.string(text)
    return try FleeceBody(written: try writer.finish()).withRoot { root throws(FleeceError) in
      try body(.value(root))
    }
  }
}

/// Quoting of words for the command line of a shell.
enum ShellQuoting {
  /// Returns a word in single quotes if it has characters that may be special in a shell.
  static func quoted(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy { scalar in
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "_", "-", ".", "/", ":", "@", "%", "+", ",": true
      default: !scalar.isASCII
      }
    }
    if isPlain, !word.isEmpty { return word }
    return "'" + word.replacing("'", with: #"'\''"#) + "'"
  }
}
