import LatewoodFleece
import LatewoodQuery

/// A document as one line of JSON, followed by a statement to run on it.
///
/// A predicate must have the same result as evaluating its condition, and every error about a text
/// must have a position in it.
final class SQLTarget: FuzzTarget {
  var words: [[UInt8]] {
    [
      "SELECT ", "DISTINCT ", " FROM c", " AS ", " UNNEST c.a AS x", " LEFT UNNEST ", " WHERE ", " GROUP BY ",
      " HAVING ", " ORDER BY ", " DESC", " LIMIT ", " OFFSET ", " AND ", " OR ", "NOT ", " IN ",
      " LIKE '%a_'",
      " BETWEEN 1 AND 2", " IS MISSING", " IS NOT NULL", " IS VALUED", "ANY x IN a SATISFIES ", "EVERY ",
      " END",
      "CASE WHEN 1 THEN ", " ELSE ", "EXISTS ", "COUNT(*)", "SUM(DISTINCT ", "meta().id", "[1,", "{'a':",
      "||",
      "REPLACE(", "SUBSTR(", "ROUND(", "ARRAY_CONTAINS(", "COALESCE(", "9223372036854775807", "1e308", "$p",
      "`",
      "''", "--", "/*", "*", "\n",
    ]
    .map { Array($0.utf8) }
  }

  private static let limits: SQLLimits = {
    var limits = SQLLimits()
    limits.steps = 50_000
    limits.memory = 1 << 20
    return limits
  }()

  func run(_ input: UnsafeRawBufferPointer) {
    let lines = [UInt8](input).split(separator: UInt8(ascii: "\n"), maxSplits: 1)
    guard lines.count == 2, let text = String(validating: lines[1], as: UTF8.self) else { return }
    tolerate {
      let document = FleeceBody(try JSON.fleece(from: Array(lines[0])))
      let statement: SQLStatement
      do throws(QueryError) { statement = try SQLStatement(parsing: text) } catch {
        guard let place = error.position else { return }
        if place.offset > text.utf8.count || !place.excerpt(of: text).hasSuffix("^") {
          find("an error has no place in its text")
        }
        return
      }
      let program = try SQLProgram(statement, parameters: ["p": document.root])
      try run(program, document)
      try compare(text, document)
    }
  }

  private func run(_ program: SQLProgram, _ document: FleeceBody) throws {
    var run = SQLRun(program, limits: Self.limits)
    let check = { (row: FleeceBody) throws -> Bool in
      try row.withRoot { root throws(FleeceError) in
        if root.kind != .dictionary { find("a row is no object") }
        try root.validate()
      }
      return true
    }
    repeat {
      try document.bytes.withUnsafeBytes { bytes in
        _ = try run.add(Source(body: FleeceValue.root(of: bytes)), check)
      }
    } while try run.finish(check)
  }

  /// Evaluates the text as a condition in two ways: by a predicate, and as an argument that no
  /// predicate can express.
  private func compare(_ text: String, _ document: FleeceBody) throws {
    guard let condition = text.split(separator: " WHERE ", maxSplits: 1).dropFirst().first else { return }
    let open = try SQLProgram(
      SQLStatement(parsing: "SELECT 1 FROM c WHERE (\(condition)\n)"), parameters: ["p": document.root])
    let hidden = try SQLProgram(
      SQLStatement(parsing: "SELECT 1 FROM c WHERE COALESCE((\(condition)\n), false)"),
      parameters: ["p": document.root])
    if try isFound(open, document) != isFound(hidden, document) {
      find("a predicate is not what its condition is")
    }
  }

  private func isFound(_ program: SQLProgram, _ document: FleeceBody) throws -> Bool {
    var found = false
    var run = SQLRun(program, limits: Self.limits)
    try document.bytes.withUnsafeBytes { bytes in
      let source = Source(body: try FleeceValue.root(of: bytes))
      guard try program.predicate.matches(source) else { return }
      _ = try run.add(source) { _ in
        found = true
        return false
      }
    }
    return found
  }

  private struct Source: SQLDocument, FieldSource {
    let body: FleeceValue

    func fact(_ fact: SQLFact) -> SQLLiteral { fact == .id ? .string("a") : .null }

    func withField<R>(
      _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
    ) throws(FleeceError) -> R {
      guard path.text == "_id" || path.text == "_rev" else { return try body(path.lookup(in: self.body)) }
      var writer = FleeceWriter()
      if path.text == "_id" { try writer.string("a") } else { try writer.null() }
      return try FleeceBody(written: try writer.finish()).withRoot { root throws(FleeceError) in
        try body(.value(root))
      }
    }
  }
}
