import LatewoodFleece

@testable import LatewoodQuery

/// A document of a test, read from its body.
struct BodyDocument: SQLDocument, FieldSource {
  let id: String
  let body: FleeceValue

  func fact(_ fact: SQLFact) -> SQLLiteral {
    switch fact {
    case .id: .string(id)
    case .sequence: .integer(id.utf8.count)
    case .expiration, .expirationSeconds: .null
    case .revisionID: .string("1-\(id)")
    }
  }

  func withField<R>(
    _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    guard path == FieldPath("_id") else { return try body(path.lookup(in: self.body)) }
    var writer = FleeceWriter()
    try writer.string(id)
    return try FleeceBody(written: writer.finish()).withRoot { value throws(FleeceError) in
      try body(.value(value))
    }
  }
}

/// A collection of documents in memory, named `c`.
struct SQLBench {
  private let documents: [(id: String, body: FleeceBody)]
  var limits = SQLLimits()

  /// Creates documents with the ids a, b, c, ....
  init(_ texts: [String]) throws {
    var documents: [(id: String, body: FleeceBody)] = []
    for (index, text) in texts.enumerated() {
      let id = String(UnicodeScalar(UInt8(ascii: "a") + UInt8(index % 26)))
      documents.append((id, FleeceBody(try JSON.fleece(from: text))))
    }
    self.documents = documents
  }

  func program(_ text: String, _ parameters: [String: String] = [:]) throws -> SQLProgram {
    let elements = try parameters.mapValues { try FleeceBody(JSON.fleece(from: $0)).root }
    return try SQLProgram(SQLStatement(parsing: text), parameters: elements)
  }

  /// Returns the rows of a statement in JSON. Documents are read as the engine reads them: by the
  /// predicate of the program, in its order, and not more than needed.
  func rows(_ text: String, _ parameters: [String: String] = [:]) throws -> [String] {
    try parts(text, parameters).parts.flatMap { $0 }
  }

  /// Returns the rows of a statement in JSON, grouped by the parts of the run, and the most memory
  /// that the run kept.
  func parts(
    _ text: String, _ parameters: [String: String] = [:], goesOn: @escaping (String) -> Bool = { _ in true }
  ) throws -> (parts: [[String]], mostKept: Int) {
    let program = try program(text, parameters)
    var found: [(key: [UInt8], index: Int)] = []
    for (index, document) in documents.enumerated() {
      try document.body.withRoot { root throws(FleeceError) in
        let source = BodyDocument(id: document.id, body: root)
        guard try program.predicate.matches(source) else { return }
        var key = CollationKey()
        for order in program.scanOrder {
          try source.withField(order.path) { lookup throws(FleeceError) in
            try key.append(lookup.value, descending: order.isDescending)
          }
        }
        found.append((key.bytes, index))
      }
    }
    found.sort { $0.key == $1.key ? $0.index < $1.index : $0.key.lexicographicallyPrecedes($1.key) }
    var parts: [[String]] = [[]]
    var mostKept = 0
    let take = { (row: FleeceBody) throws -> Bool in
      let text = String(decoding: try JSON.text(of: row.bytes), as: UTF8.self)
      parts[parts.count - 1].append(text)
      return goesOn(text)
    }
    var run = SQLRun(program, limits: limits)
    while true {
      for (_, index) in found.dropFirst(program.scanSkip).prefix(program.scanLimit) {
        let document = documents[index]
        let goesOn = try document.body.bytes.withUnsafeBytes { bytes in
          try run.add(BodyDocument(id: document.id, body: FleeceValue.root(of: bytes)), take)
        }
        mostKept = max(mostKept, run.keptByteCount)
        if !goesOn { break }
      }
      guard try run.finish(take) else { return (parts, mostKept) }
      parts.append([])
    }
  }

  /// Returns the value of an expression for one document, as JSON; `MISSING` if it is missing.
  static func value(_ expression: String, _ document: String = "{}") throws -> String {
    let row = try SQLBench([document]).rows("SELECT \(expression) AS v FROM c")[0]
    return row == "{}" ? "MISSING" : String(row.dropFirst(5).dropLast())
  }
}
