import LatewoodFleece
import Testing

@testable import LatewoodQuery

/// The values of expressions.
@Suite struct SQLExpressionTests {
  @Test(arguments: [
    ("1 + 2 * 3", "7"), ("(1 + 2) * 3", "9"), ("7 / 2", "3"), ("7 / 2.0", "3.5"), ("DIV(7, 2)", "3.5"),
    ("IDIV(7.5, 2)", "3"), ("-7 % 3", "-1"), ("1 / 0", "null"), ("1 % 0", "null"), ("1.5 % 0", "null"),
    ("9223372036854775807 + 1", "9223372036854775808"), ("-9223372036854775808", "-9223372036854775808"),
    ("-9223372036854775808 / -1", "9223372036854775808"),
    ("ABS(-9223372036854775808)", "9223372036854775808"),
    ("-9223372036854775808 % -1", "0"), ("18446744073709551615 * 2 > 3e19", "true"),
    ("1e308 * 10", "null"), ("'a' || 'b' || 'c'", "\"abc\""), ("'a' || 1", "null"), ("'a' || n", "null"),
    ("'a' || none", "MISSING"), ("1 + n", "null"), ("1 + none", "MISSING"), ("n + none", "MISSING"),
    ("'it''s \\u00e9 \\\"x\\\"'", "\"it's é \\\"x\\\"\""), ("\"a\"\"b\"", "\"a\\\"b\""),
    ("'\\ud83d\\ude00'", "\"😀\""), ("[1, none, n]", "[1,null,null]"),
    ("{'a': 1, 'b': none}", "{\"a\":1}"), ("{'a': [1, 2]}.a[1]", "2"), ("[1, 2, 3][-1]", "3"),
    ("[1][1]", "MISSING"), ("a[i]", "20"), ("o['k']", "5"), ("o[s2]", "5"), ("s.x", "MISSING"),
    ("n.x", "MISSING"), ("`a b`", "1"), ("c.o.k", "5"), ("o.`order`", "6"), ("o.order", "6"),
    ("CASE WHEN i = 1 THEN 'one' ELSE 'other' END", "\"one\""),
    ("CASE i WHEN 2 THEN 'two' WHEN 1 THEN 'one' END", "\"one\""), ("CASE WHEN none THEN 1 END", "null"),
    ("meta().id", "\"a\""), ("META(c).sequence", "1"), ("meta().expiration", "null"),
  ])
  func `an expression has the expected value`(expression: String, expected: String) throws {
    let document = #"{"n":null,"i":1,"s":"text","s2":"k","a":[10,20],"o":{"k":5,"order":6},"a b":1}"#
    #expect(try SQLBench.value(expression, document) == expected)
  }

  /// Couchbase's truth tables of four values.
  @Test func `AND, OR and NOT follow four-valued logic`() throws {
    let names = ["true", "false", "null", "missing"]
    let values = ["true", "false", "null", "MISSING"]
    let all = [[0, 1, 2, 3], [1, 1, 1, 1], [2, 1, 2, 3], [3, 1, 3, 3]]
    let any = [[0, 0, 0, 0], [0, 1, 2, 3], [0, 2, 2, 2], [0, 3, 2, 3]]
    for left in 0..<4 {
      #expect(try SQLBench.value("NOT \(names[left])") == values[[1, 0, 2, 3][left]])
      for right in 0..<4 {
        let (a, b) = (names[left], names[right])
        #expect(try SQLBench.value("\(a) AND \(b)") == values[all[left][right]], "\(a) AND \(b)")
        #expect(try SQLBench.value("\(a) OR \(b)") == values[any[left][right]], "\(a) OR \(b)")
      }
    }
  }

  @Test(arguments: [
    ("1 = 1.0", "true"), ("'a' < 'B'", "false"), ("1 < 'a'", "true"), ("false < 0", "true"),
    ("[1, 2] < [1, 3]", "true"), ("{'a': 1} = {'a': 1.0}", "true"), ("n = n", "null"),
    ("none = 1", "MISSING"), ("n < none", "MISSING"), ("9007199254740993 = 9007199254740992", "false"),
    ("n IS NULL", "true"), ("none IS NULL", "MISSING"), ("i IS NOT NULL", "true"), ("n IS MISSING", "false"),
    ("none IS MISSING", "true"), ("n IS NOT MISSING", "true"), ("n IS VALUED", "false"),
    ("i IS VALUED", "true"),
    ("none IS NOT VALUED", "true"), ("i BETWEEN 0 AND 1", "true"), ("i NOT BETWEEN 0 AND 1", "false"),
    ("i BETWEEN 2 AND n", "false"), ("i BETWEEN 0 AND n", "null"), ("i IN [1, 2]", "true"),
    ("i IN [2, n]", "null"), ("i NOT IN [2, 3]", "true"), ("none IN [1]", "MISSING"), ("n IN []", "null"),
    ("i IN 5", "null"), ("'été' LIKE '_t_'", "true"), ("'abc' LIKE 'a%c'", "true"),
    ("'abc' LIKE 'a%b'", "false"),
    ("'a%c' LIKE 'a\\%c'", "true"), ("'abc' LIKE 'a\\%c'", "false"), ("'' LIKE '%'", "true"),
    ("'' LIKE '_'", "false"),
    ("'aXbXc' LIKE '%X%c'", "true"), ("i LIKE '1'", "null"), ("'abc' NOT LIKE 'b%'", "true"),
    ("ANY x IN a SATISFIES x > 15 END", "true"), ("EVERY x IN a SATISFIES x > 15 END", "false"),
    ("EVERY x IN [] SATISFIES x > 15 END", "true"), ("ANY AND EVERY x IN [] SATISFIES true END", "false"),
    ("SOME x IN none SATISFIES true END", "MISSING"), ("ANY x IN i SATISFIES true END", "null"),
    ("ANY x IN a SATISFIES ANY y IN a SATISFIES x < y END END", "true"), ("EXISTS a", "true"),
    ("EXISTS []", "false"),
  ])
  func `a condition evaluates as in Couchbase`(condition: String, expected: String) throws {
    #expect(try SQLBench.value(condition, #"{"n":null,"i":1,"a":[10,20]}"#) == expected)
  }

  @Test(arguments: [
    ("LOWER('ÀB')", "\"àb\""), ("UPPER('ß')", "\"SS\""), ("LENGTH('été')", "3"), ("LENGTH(1)", "null"),
    ("CONTAINS('banana', 'nan')", "true"), ("CONTAINS('banana', 'nab')", "false"),
    ("POSITION('éa', 'a')", "1"),
    ("POSITION('a', 'b')", "-1"), ("TRIM('  a ')", "\"a\""), ("LTRIM(' a ')", "\"a \""),
    ("RTRIM(' a ')", "\" a\""),
    ("REPLACE('aaa', 'a', 'bb')", "\"bbbbbb\""), ("REPLACE('aaa', 'a', 'b', 1)", "\"baa\""),
    ("SUBSTR('hello', 1, 3)", "\"ell\""), ("SUBSTR('hello', -2)", "\"lo\""), ("SUBSTR('a', 5)", "null"),
    ("SUBSTR('abc', 1, 9223372036854775807)", "\"bc\""),
    ("ABS(-1.5)", "1.5"), ("SIGN(-3)", "-1"), ("CEIL(1.2)", "2"), ("FLOOR(-1.2)", "-2"),
    ("TRUNC(-1.7)", "-1"),
    ("ROUND(2.5)", "3"), ("ROUND(1.25, 1)", "1.3"), ("ROUND(1234, -2)", "1200"),
    ("ROUND(1e300, 400)", "1e+300"),
    ("SQRT(16)", "4"), ("SQRT(-1)", "null"), ("GREATEST(1, n, 3, 2)", "3"), ("LEAST('b', 'a')", "\"a\""),
    ("ARRAY_LENGTH([1, 2])", "2"), ("ARRAY_LENGTH(1)", "null"), ("ARRAY_CONTAINS([1, 2], 2.0)", "true"),
    ("ARRAY_COUNT([1, n])", "1"), ("ARRAY_SUM([1, 'a', 2])", "3"), ("ARRAY_AVG([1, 2])", "1.5"),
    ("ARRAY_MIN([3, 1])", "1"), ("ARRAY_MAX([3, [1]])", "[1]"), ("ISARRAY([])", "true"),
    ("IS_STRING('')", "true"),
    ("ISNUMBER(n)", "null"), ("ISATOM([])", "false"), ("TYPE(none)", "\"missing\""),
    ("TYPE({})", "\"object\""),
    ("TOSTRING(1.5)", "\"1.5\""), ("TONUMBER('12')", "12"), ("TONUMBER('x')", "null"),
    ("TOBOOLEAN('')", "false"),
    ("COALESCE(none, n, 2)", "2"), ("IFMISSING(none, 1)", "1"), ("IFNULL(n, 1)", "1"),
    ("NVL(n, none)", "null"),
    ("NULLIF(1, 1)", "null"), ("MISSINGIF(1, 1)", "MISSING"), ("MISSINGIF(1, 2)", "1"),
    ("LOWER(none)", "MISSING"),
  ])
  func `a function returns the expected value`(expression: String, expected: String) throws {
    #expect(try SQLBench.value(expression, #"{"n":null}"#) == expected)
  }
}
