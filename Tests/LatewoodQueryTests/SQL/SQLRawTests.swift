import LatewoodFleece
import Testing

@testable import LatewoodQuery

/// SELECT RAW and SELECT VALUE, whose rows are values instead of objects.
@Suite struct SQLRawTests {
  private let bench: SQLBench

  init() throws {
    bench = try SQLBench([
      #"{"name":"b","value":[1,2],"raw":7}"#, #"{"name":"a","value":null}"#, #"{"value":{"x":1}}"#,
      #"{"name":"b"}"#,
    ])
  }

  @Test(arguments: [
    ("SELECT RAW name FROM c", [#""b""#, #""a""#, "null", #""b""#]),
    ("SELECT VALUE name FROM c", [#""b""#, #""a""#, "null", #""b""#]),
    ("select all element c.name FROM c LIMIT 1", [#""b""#]),
    ("SELECT RAW name FROM c WHERE name IS VALUED ORDER BY name DESC", [#""b""#, #""b""#, #""a""#]),
    ("SELECT RAW LENGTH(name) AS n FROM c ORDER BY n DESC, name LIMIT 2", ["1", "1"]),
    ("SELECT DISTINCT RAW name FROM c", [#""b""#, #""a""#, "null"]),
    ("SELECT DISTINCT VALUE name FROM c ORDER BY name", ["null", #""a""#, #""b""#]),
    ("SELECT RAW COUNT(*) FROM c", ["4"]),
    ("SELECT RAW {\"n\": name} FROM c LIMIT 1", [#"{"n":"b"}"#]),
    ("SELECT RAW [name, 1] FROM c LIMIT 1", [#"["b",1]"#]),
    ("SELECT RAW (1 + 1) FROM c LIMIT 1", ["2"]),
    ("SELECT VALUE c FROM c LIMIT 1 OFFSET 3", [#"{"name":"b"}"#]),
    ("SELECT RAW value FROM c LIMIT 1", ["[1,2]"]),
    ("SELECT RAW NOT true FROM c LIMIT 1", ["false"]),
    ("SELECT RAW MAX(name) FROM c GROUP BY name HAVING name = 'b'", [#""b""#]),
    // Members of these names.
    ("SELECT value FROM c LIMIT 1", [#"{"value":[1,2]}"#]),
    ("SELECT raw, name FROM c LIMIT 1", [#"{"name":"b","raw":7}"#]),
    ("SELECT value.x AS x FROM c LIMIT 1 OFFSET 2", [#"{"x":1}"#]),
    ("SELECT value[0] AS v FROM c LIMIT 1", [#"{"v":1}"#]),
    ("SELECT raw AS r FROM c LIMIT 1", [#"{"r":7}"#]), ("SELECT `raw` r FROM c LIMIT 1", [#"{"r":7}"#]),
    ("SELECT raw + 1 AS r FROM c LIMIT 1", [#"{"r":8}"#]),
    ("SELECT raw IN [7] AS r FROM c LIMIT 1", [#"{"r":true}"#]),
    ("SELECT raw NOT IN [7] AS r FROM c LIMIT 1", [#"{"r":false}"#]),
  ])
  func `rows are values after RAW, and members can have its name`(text: String, rows: [String]) throws {
    #expect(try bench.rows(text) == rows)
  }

  @Test(arguments: [
    ("SELECT RAW name, value FROM c", "SELECT RAW takes one expression"),
    ("SELECT RAW c.* FROM c", "SELECT RAW takes an expression"),
    ("SELECT raw FROM c", nil), ("SELECT raw, name FROM c", nil),
  ])
  func `RAW takes one expression`(text: String, reason: String?) throws {
    if let reason {
      let error = #expect(throws: QueryError.self) { try bench.program(text) }
      #expect(error?.reason.contains(reason) == true)
    } else {
      #expect(try bench.rows(text).first?.hasPrefix("{\"") == true)
    }
  }
}
