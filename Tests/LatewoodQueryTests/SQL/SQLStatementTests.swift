import Foundation
import LatewoodFleece
import LatewoodTestSupport
import Testing

@testable import LatewoodQuery

/// Whole statements: their rows, and the errors of invalid ones.
@Suite struct SQLStatementTests {
  private static let films = [
    #"{"title":"Alien","year":1979,"cast":["Weaver","Hurt"],"genre":"horror"}"#,
    #"{"title":"Brazil","year":1985,"cast":[],"genre":"comedy"}"#,
    #"{"title":"Blade Runner","year":1982,"cast":["Ford","Young"]}"#,
    #"{"title":"Star Wars","year":1977,"cast":["Ford","Fisher","Hamill"],"genre":null}"#,
    #"{"title":"Witness","year":1985,"cast":["Ford"],"genre":"drama"}"#,
  ]

  @Test(arguments: [
    ("SELECT title FROM c WHERE year = 1985", [#"{"title":"Brazil"}"#, #"{"title":"Witness"}"#]),
    ("SELECT * FROM c WHERE year < 1978 AND genre IS NULL", [#"{"c":\#(films[3])}"#]),
    ("SELECT f.* FROM c AS f WHERE f.title LIKE 'Al%'", [films[0].sorted]),
    ("SELECT meta().id, year - 1900 FROM c LIMIT 2", [#"{"$1":79,"id":"a"}"#, #"{"$1":85,"id":"b"}"#]),
    (
      "SELECT title FROM c ORDER BY year DESC, title LIMIT 2 OFFSET 1;",
      [#"{"title":"Witness"}"#, #"{"title":"Blade Runner"}"#]
    ),
    ("SELECT title FROM c ORDER BY LENGTH(title), title LIMIT 1", [#"{"title":"Alien"}"#]),
    (
      "SELECT LOWER(title) AS t FROM c WHERE year > 1984 ORDER BY t DESC",
      [#"{"t":"witness"}"#, #"{"t":"brazil"}"#]
    ),
    ("SELECT DISTINCT year FROM c WHERE year > 1980 ORDER BY year", [#"{"year":1982}"#, #"{"year":1985}"#]),
    (
      "SELECT title FROM c WHERE genre IS MISSING OR genre IS NULL",
      [#"{"title":"Blade Runner"}"#, #"{"title":"Star Wars"}"#]
    ),
    (
      "SELECT genre FROM c ORDER BY genre, title",
      ["{}", #"{"genre":null}"#, #"{"genre":"comedy"}"#, #"{"genre":"drama"}"#, #"{"genre":"horror"}"#]
    ),
    (
      "SELECT COUNT(*) AS n, MIN(year) AS least, AVG(year) AS mean FROM c",
      [#"{"least":1977,"mean":1981.6,"n":5}"#]
    ),
    ("SELECT COUNT(genre) AS n, COUNT(DISTINCT year) AS y FROM c", [#"{"n":3,"y":4}"#]),
    ("SELECT COUNT(*) AS n, SUM(year) AS s FROM c WHERE year > 3000", [#"{"n":0,"s":null}"#]),
    ("SELECT year, COUNT(*) AS n FROM c GROUP BY year HAVING COUNT(*) > 1", [#"{"n":2,"year":1985}"#]),
    (
      "SELECT year % 2 AS odd, MAX(title) AS last FROM c GROUP BY year % 2 ORDER BY MAX(title) DESC",
      [#"{"last":"Witness","odd":1}"#, #"{"last":"Blade Runner","odd":0}"#]
    ),
    (
      "SELECT actor, COUNT(*) AS n FROM c UNNEST c.cast AS actor GROUP BY actor ORDER BY n DESC, actor LIMIT 2",
      [#"{"actor":"Ford","n":3}"#, #"{"actor":"Fisher","n":1}"#]
    ),
    (
      "SELECT title, a FROM c UNNEST cast a WHERE a = 'Ford' AND year > 1980",
      [#"{"a":"Ford","title":"Blade Runner"}"#, #"{"a":"Ford","title":"Witness"}"#]
    ),
    (
      "SELECT title, cast FROM c LEFT UNNEST c.cast WHERE year = 1985",
      [#"{"title":"Brazil"}"#, #"{"cast":"Ford","title":"Witness"}"#]
    ),
    (
      "SELECT title FROM c WHERE ANY a IN cast SATISFIES a LIKE 'F%' END AND year BETWEEN $from AND $to",
      [#"{"title":"Blade Runner"}"#, #"{"title":"Witness"}"#]
    ),
    (
      "SELECT title FROM c WHERE 'Hurt' IN cast OR meta().id = 'b'",
      [#"{"title":"Alien"}"#, #"{"title":"Brazil"}"#]
    ),
    ("SELECT title FROM c WHERE year IN $years LIMIT $n", [#"{"title":"Alien"}"#]),
    ("SELECT title FROM c LIMIT 0", []),
    ("select Title from c -- nothing has it\n where /* not a title */ title is missing", []),
  ])
  func `a statement returns the expected rows`(text: String, expected: [String]) throws {
    let parameters = ["from": "1980", "to": "1990", "years": "[1979,1982]", "n": "1"]
    #expect(try SQLBench(Self.films).rows(text, parameters) == expected.map(\.sorted))
  }

  @Test(arguments: [
    ("", "SELECT is expected", 1, 1), ("SELECT", "an expression is expected", 1, 7),
    ("SELECT a FORM c", "FROM is expected", 1, 15), ("SELECT a", "FROM is expected", 1, 8),
    ("SELECT 1 + a;", "because a is read", 1, 12), ("SELECT *", "because * stands", 1, 8),
    ("SELECT meta().id", "because meta() is read", 1, 8),
    ("SELECT a\nFROM c\nWHERE a = ", "the statement ends", 3, 11),
    ("SELECT a FROM c WHERE a = 'x", "not closed", 1, 27),
    ("SELECT é, é + ~ FROM c", "has no meaning", 1, 15),
    ("SELECT LOWR(a) FROM c", "did you mean LOWER?", 1, 8),
    ("SELECT LOWER(a, b) FROM c", "takes 1 argument", 1, 8),
    ("SELECT a FROM c WHERE COUNT(*) > 1", "many rows", 1, 23),
    ("SELECT a, COUNT(*) FROM c", "not the same for all rows", 1, 8),
    ("SELECT a FROM c GROUP BY b", "not the same for all rows", 1, 8),
    ("SELECT SUM(MAX(a)) FROM c", "inside another", 1, 12),
    ("SELECT ANY x IN [1] SATISFIES COUNT(x) = 1 END FROM c", "element of a whole group", 1, 37),
    ("SELECT MAX(a, b) FROM c", "GREATEST", 1, 8), ("SELECT a FROM c LIMIT -1", "whole number", 1, 23),
    ("SELECT a FROM c LIMIT a", "whole number", 1, 23),
    ("SELECT $x FROM c", "the parameter $x has no value", 1, 8),
    ("SELECT a, b.a FROM c", "two columns have the name a", 1, 11),
    ("SELECT DISTINCT a FROM c ORDER BY b", "SELECT DISTINCT sorts", 1, 35),
    ("SELECT a FROM c JOIN d", "JOIN is not supported", 1, 17),
    ("SELECT (SELECT 1) FROM c", "not supported", 1, 9),
    ("SELECT a FROM c, d", "one collection", 1, 16), ("SELECT order FROM c", "`order`", 1, 8),
    ("SELECT meta().foo FROM c", "it has id", 1, 8), ("SELECT meta(d).id FROM c", "meta(c)", 1, 13),
    ("SELECT ANY x IN a SATISFIES x FROM c", "END is expected", 1, 31),
    ("SELECT a FROM c UNNEST [1]", "a name for the elements", 1, 27),
    ("SELECT a IS 5 FROM c", "after IS", 1, 13), ("SELECT 'a\\q' FROM c", "unknown escape sequence", 1, 10),
    ("SELECT 1x FROM c", "not a number", 1, 8), ("SELECT 1e999 FROM c", "not a number", 1, 8),
    ("SELECT a FROM c extra more", "a clause or the end is expected", 1, 23),
    ("SELECT /* a FROM c", "has no end", 1, 8), ("SELECT a FROM c UNNEST a AS c", "already taken", 1, 17),
    ("SELECT a FROM s.c.d", "no third part", 1, 18),
    ("SELECT a FROM s. WHERE b", "after its scope", 1, 18),
    ("SELECT COUNT(DISTINCT *) FROM c", "an expression is expected", 1, 23),
  ])
  func `an error points at its position`(text: String, reason: String, line: Int, column: Int) throws {
    let error = #expect(throws: QueryError.self) { try SQLBench([]).program(text) }
    #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
    #expect(error?.position.map { [$0.line, $0.column] } == [line, column], "\(String(describing: error))")
  }

  @Test func `the caret stands below the position of the error`() throws {
    let text = "SELECT é\nFROM c WHERE é = )"
    let error = #expect(throws: QueryError.self) { try SQLStatement(parsing: text) }
    #expect(error?.position?.excerpt(of: text) == "FROM c WHERE é = )\n                 ^")
  }

  @Test func `the caret is placed correctly with any line endings`() throws {
    let text = "SELECT a\r\nFROM c\r\nWHERE ="
    let error = #expect(throws: QueryError.self) { try SQLStatement(parsing: text) }
    #expect(error?.position?.line == 3)
    #expect(error?.position?.excerpt(of: text) == "WHERE =\n      ^")
  }

  @Test(arguments: [
    // The alias of a column with a quantifier, inside another quantifier.
    (
      "SELECT title, (ANY a IN cast SATISFIES a = 'Ford' END) AS f FROM c "
        + "ORDER BY ANY x IN [1] SATISFIES f END DESC, title LIMIT 1",
      [#"{"f":true,"title":"Blade Runner"}"#]
    ),
    (
      "SELECT (ANY a IN [year] SATISFIES a > 1980 END) AS f, COUNT(*) AS n FROM c "
        + "GROUP BY (ANY a IN [year] SATISFIES a > 1980 END) ORDER BY ANY x IN [1] SATISFIES f END",
      [#"{"f":false,"n":2}"#, #"{"f":true,"n":3}"#]
    ),
    (
      "SELECT year, ANY x IN [1, 2] SATISFIES COUNT(*) = x END AS few FROM c WHERE year < 1980 GROUP BY year",
      [#"{"few":true,"year":1977}"#, #"{"few":true,"year":1979}"#]
    ),
    (
      "SELECT ANY x IN [3] SATISFIES SUM(CASE WHEN ANY y IN cast SATISFIES y = 'Ford' END THEN 1 END) = x END "
        + "AS f FROM c",
      [#"{"f":true}"#]
    ),
    // A quantifier that is evaluated before arrays are flattened.
    (
      "SELECT a FROM c UNNEST cast a WHERE (EVERY x IN cast SATISFIES LENGTH(x) = 4 END) AND year > 0",
      [#"{"a":"Ford"}"#]
    ),
    ("SELECT {'a': 1, 'a': 2}.a AS a FROM c LIMIT 1", [#"{"a":2}"#]),
  ])
  func `quantifiers and aggregates can be nested`(text: String, expected: [String]) throws {
    #expect(try SQLBench(Self.films).rows(text) == expected.map(\.sorted))
  }

  @Test(arguments: ["{'a': 1, 'a': 2} AS v", "c.*, c.title", "c.*, c.*", "1 AS title, c.*"])
  func `a column name may occur twice in a row`(columns: String) throws {
    #expect(try SQLBench(Self.films).rows("SELECT \(columns) FROM c").count == Self.films.count)
  }

  @Test(arguments: [
    ("SELECT ", ",", " FROM c", SQLParser.listLimit),
    ("SELECT 1 FROM c GROUP BY ", ",", "", SQLParser.listLimit),
    ("SELECT 1 FROM c ORDER BY ", ",", "", SQLParser.listLimit),
    ("SELECT 1 FROM c WHERE ", " OR NOT ", "", SQLParser.partLimit / 2),
  ])
  func `the number of parts that are compared pairwise is limited`(
    head: String, separator: String, tail: String, limit: Int
  ) throws {
    let bench = try SQLBench(["{}"])
    let text = { (count: Int) in head + (0..<count).map { "a\($0)" }.joined(separator: separator) + tail }
    _ = try bench.rows(text(limit))
    let error = #expect(throws: QueryError.self) { try bench.rows(text(limit + 1)) }
    #expect(error?.kind == .tooLarge)
    #expect(error?.position != nil)
  }

  @Test func `literals do not count toward the size limit of a statement`() throws {
    let list = (0..<20_000).map(String.init).joined(separator: ",")
    #expect(
      try SQLBench([#"{"a":7}"#, #"{"a":-1}"#]).rows("SELECT a FROM c WHERE a IN [\(list)]").count == 1)
  }

  @Test(arguments: [
    // Conditions in WHERE, and the number of documents that the predicate alone accepts.
    ("year = 1985 AND LENGTH(title) > 6", 2), ("LENGTH(title) > 6 AND genre IS VALUED", 3),
    ("(year = 1985 AND LENGTH(title) > 6) OR (year = 1977 AND LOWER(title) = 'x')", 3),
    ("(year = 1985 AND LENGTH(title) > 6) OR LOWER(title) = 'x'", 5),
    ("title LIKE 'B%l'", 2), ("title LIKE 'B%' AND title LIKE '%r'", 2), ("title NOT LIKE 'B%'", 5),
    ("ANY a IN cast SATISFIES a LIKE 'F%r' END", 3), ("ANY a IN cast SATISFIES LENGTH(a) = 6 END", 5),
    ("ANY a IN cast SATISFIES a = 'Ford' AND LENGTH(a) = 4 END", 3),
    ("EVERY a IN cast SATISFIES a = 'Ford' AND LENGTH(a) = 4 END", 5), ("LOWER(title) = 'alien'", 5),
  ])
  func `a condition that cannot be a predicate is narrowed by a weaker one`(condition: String, expected: Int)
    throws
  {
    #expect(try possible("SELECT 1 FROM c WHERE \(condition)") == expected)
  }

  @Test(arguments: [
    ("UNNEST cast a WHERE a = 'Ford'", 3), ("UNNEST cast a WHERE a = 'Ford' AND LENGTH(title) > 7", 3),
    ("UNNEST cast a WHERE a > 'Fi' AND a < 'Fj'", 1),
    ("UNNEST cast a WHERE a = 'Ford' OR title = 'Alien'", 5),
    ("LEFT UNNEST cast a WHERE a = 'Ford'", 5), ("UNNEST cast a UNNEST a b WHERE b = 'Ford'", 5),
    ("UNNEST cast a UNNEST cast b WHERE b = 'Ford' AND a = 'Fisher'", 1),
    ("UNNEST cast a WHERE ANY b IN cast SATISFIES b = a END", 5),
  ])
  func `a condition on an element narrows the documents to unnest`(
    tail: String, expected: Int
  ) throws {
    #expect(try possible("SELECT 1 FROM c \(tail)") == expected)
  }

  private func possible(_ text: String) throws -> Int {
    let program = try SQLBench([]).program(text)
    return try Self.films.count { film in
      try FleeceBody(JSON.fleece(from: film)).withRoot { root throws(FleeceError) in
        try program.predicate.matches(BodyDocument(id: "a", body: root))
      }
    }
  }

  @Test(arguments: [
    ("(", "1", ")"), ("NOT ", "1", ""), ("- ", "1", ""), ("[", "1", "]"), ("{'a': ", "1", "}"),
    ("ABS(", "1", ")"),
    ("1 + (", "1", ")"), ("", "1", " + 1"), ("", "a", ".b"), ("", "a", "[0]"),
    ("CASE WHEN 1 THEN ", "1", " END"),
    ("EXISTS ", "1", ""), ("ANY x IN ", "a", " SATISFIES 1 END"), ("a BETWEEN 1 AND (", "1", ")"),
  ])
  func `depth is limited, and fits a small stack`(start: String, middle: String, end: String) throws {
    for depth in [5, 1000, 4000] {
      let expression =
        String(repeating: start, count: depth) + middle + String(repeating: end, count: depth)
      try onSmallStack {
        do {
          _ = try SQLBench.value(expression, #"{"a":[1]}"#)
        } catch let error as QueryError {
          #expect(error.kind == .tooDeep && depth > 5)
        }
      }
    }
    try onSmallStack {
      // The deepest statement that is accepted.
      for depth in 1...60 {
        let expression =
          String(repeating: start, count: depth) + middle + String(repeating: end, count: depth)
        do { _ = try SQLBench.value(expression, #"{"a":[1]}"#) } catch is QueryError {}
      }
    }
  }

  @Test(arguments: [
    "SELECT " + (0..<14).map { "ANY x\($0) IN [1,2] SATISFIES " }.joined() + "false"
      + String(repeating: " END", count: 14) + " FROM c",
    "SELECT ANY a IN ['xxxxxxxx'] SATISFIES "
      + (0..<14).map {
        "ANY x\($0) IN [\($0 == 0 ? "a" : "x\($0 - 1)") || \($0 == 0 ? "a" : "x\($0 - 1)")] SATISFIES "
      }.joined()
      + "x13 = 'y'" + String(repeating: " END", count: 15) + " FROM c",
    "SELECT ANY a IN [[1]] SATISFIES "
      + (0..<14).map {
        "ANY x\($0) IN [[\($0 == 0 ? "a" : "x\($0 - 1)"), \($0 == 0 ? "a" : "x\($0 - 1)")]] SATISFIES "
      }.joined()
      + "x13 = 1" + String(repeating: " END", count: 15) + " FROM c",
    "SELECT t FROM c UNNEST a a1 UNNEST a a2 UNNEST a a3 UNNEST a a4 UNNEST a a5 UNNEST a a6 UNNEST a a7 UNNEST a t WHERE t + 0 = 0",
  ])
  func `work that grows without bound is refused`(text: String) throws {
    let numbers = (1...100).map { "\($0)" }.joined(separator: ",")
    var bench = try SQLBench([#"{"a":[\#(numbers)],"s":"\#(String(repeating: "a", count: 5000))"}"#])
    bench.limits.steps = 10_000
    let error = #expect(throws: QueryError.self) { try bench.rows(text) }
    #expect(error?.kind == .tooLarge)
  }

  @Test(arguments: [
    ("SELECT DISTINCT n FROM c", 500), ("SELECT DISTINCT n, COUNT(*) FROM c GROUP BY n", 500),
    ("SELECT COUNT(DISTINCT n) FROM c", 1), ("SELECT n % 2, SUM(DISTINCT n) FROM c GROUP BY n % 2", 2),
  ])
  func `distinct values that do not fit are found in parts`(text: String, count: Int) throws {
    var bench = try SQLBench((0..<500).map { #"{"n":\#($0)}"# })
    let expected = try bench.rows(text)
    #expect(expected.count == count)
    bench.limits.memory = 10_000
    let (parts, _) = try bench.parts(text)
    #expect(parts.count > 1 && Set(parts.flatMap { $0 }) == Set(expected))
    if text.hasPrefix("SELECT DISTINCT") { #expect(try bench.rows(text + " ORDER BY n").count == 500) }
  }
}

extension String {
  /// The same JSON with its members in the order of their names.
  fileprivate var sorted: String {
    do { return String(decoding: try JSON.text(of: JSON.fleece(from: self)), as: UTF8.self) } catch {
      return self
    }
  }
}
