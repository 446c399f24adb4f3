import Foundation
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Regular expressions mean what they mean elsewhere, and take no more steps than they are long.
@Suite struct PatternTests {
  @Test func `the common subset means the same as in Python`() throws {
    var (expressions, texts) = (0, 0)
    let table = String(decoding: try Repository.read("Tests/patterns/python.jsonl"), as: UTF8.self)
    for line in table.split(separator: "\n") {
      let fields = try JSONDecoder().decode([PythonField].self, from: Data(line.utf8))
      let pattern = try Pattern(fields[0].text)
      for (list, isFound) in [(fields[1].texts, true), (fields[2].texts, false)] {
        for text in list {
          #expect(try pattern.matches(text) == isFound, "\(pattern.text) in \(text.debugDescription)")
          texts += 1
        }
      }
      expressions += 1
    }
    #expect(expressions > 400 && texts > 3000)
  }

  private enum PythonField: Decodable {
    case one(String)
    case many([String])

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      if let text = try? container.decode(String.self) {
        self = .one(text)
      } else {
        self = .many(try container.decode([String].self))
      }
    }

    var text: String { if case .one(let text) = self { text } else { "" } }
    var texts: [String] { if case .many(let texts) = self { texts } else { [] } }
  }

  @Test(arguments: [
    // Places.
    (#"a$"#, "a", true), (#"a$"#, "a\n", false), (#"a\Z"#, "a\n", true), (#"a\Z"#, "a\r", true),
    (#"a\Z"#, "a\n\n", false), (#"a\Z"#, "a\u{2028}", true), (#"a\z"#, "a\n", false),
    (#"(?m)^b"#, "a\u{85}b", true), (#"(?m)a$"#, "a\u{0B}b", true), (#"(?s)\A.\z"#, "\u{2029}", true),
    // Newlines.
    (#"."#, "\r", false), (#"."#, "\u{2028}", false), (#"^\R$"#, "\r\n", true), (#"\R{2}"#, "\r\n", false),
    (#"\v"#, "\u{0C}", true), (#"\h"#, "\u{A0}", true), (#"\H"#, "\t", false), (#"\V"#, "\n", false),
    // Classes.
    (#"\d"#, "²", true), (#"\w"#, "²", false), (#"\w"#, "я", true), (#"^\w\w$"#, "1я", true),
    (#"[[:alpha:]]"#, "я", true), (#"[[:^alpha:]]"#, "я", false), (#"[[:punct:]]"#, "!", true),
    (#"[[:upper:][:digit:]]"#, "a1", true), (#"\p{Lu}"#, "É", true), (#"\P{Lu}"#, "É", false),
    (#"\p{Uppercase Letter}\p{gc=Ll}\p{L}"#, "Éaб", true), (#"\p{Nd}"#, "٣", true),
    (#"\p{Alphabetic}"#, "1", false), (#"[\p{L}\s]"#, "\u{A0}", true), (#"[^\P{L}]"#, "1", false),
    // Case.
    (#"(?i)straße"#, "STRAßE", true), (#"(?i)σ"#, "Σ", true), (#"(?i)[а-я]"#, "Я", true),
    (#"(?i)[k]"#, "\u{212A}", false), (#"(?i)[^k]"#, "K", false), (#"(?i)é"#, "É", true),
    (#"(?i)a(?-i)b"#, "AB", false), (#"(a(?i)b)c"#, "aBC", false), (#"a(?i)b|c"#, "C", true),
    // Escapes.
    (#"^\x{1F600}$"#, "😀", true), (#"^\u{e9}\U000000E9\o{351}$"#, "ééé", true), (#"^\0\012$"#, "\0\n", true),
    (#"^\Q.*\E$"#, ".*", true), (#"\Qa+"#, "a+", true), (#"^\e\a\f$"#, "\u{1B}\u{07}\u{0C}", true),
    (#"[\b]"#, "\u{08}", true),
    // Groups and flags.
    (#"(?<a>x)(?'b'y)"#, "xy", true), (#"(?x: a [b c] )"#, "ac", true),
    (#"(?^)a b"#, "a b", true), (#"(?n)(a)"#, "a", true), (#"(?#nothing)a"#, "a", true),
    // Repetitions.
    (#"^a{ 2 }$"#, "aa", true), (#"^x{,}$"#, "x{,}", true), (#"(a{0,3}){2}$"#, "aaaaaa", true),
    (#"^(?:a?){30}a{30}$"#, String(repeating: "a", count: 30), true),
  ]) func `the rest of the syntax is that of earlier releases`(
    text: String, string: String, isFound: Bool
  ) throws {
    #expect(try Pattern(text).matches(string) == isFound)
  }

  @Test(arguments: [
    (#"a(?=b)"#, "lookahead, at character 2"), (#"a(?!b)"#, "lookahead, at character 2"),
    (#"(?<=a)b"#, "lookbehind, at character 1"), (#"(?<!a)b"#, "lookbehind, at character 1"),
    (#"(a)\1"#, "a back reference, at character 4"), (#"(?<n>a)\k<n>"#, "a back reference, at character 8"),
    (#"(?P<n>a)(?P=n)"#, "a back reference, at character 9"), (#"(?>a)"#, "an atomic group, at character 1"),
    (#"a*+b"#, "a possessive quantifier, at character 2"), (#"a{2}+"#, "a possessive quantifier"),
    (#"(?R)"#, "a recursion"), (#"(?1)"#, "a recursion"), (#"(?(1)a|b)"#, "a condition"),
    (#"(*ACCEPT)"#, "a verb"), (#"(?|a|b)"#, "resets"), (#"\X"#, "the escape \\X"),
    (#"\K"#, "the escape \\K"),
    (#"\G"#, "the escape \\G"), (#"\i"#, "the escape \\i"),
    (#"[a[b]]"#, "a class inside a class (a single bracket is written \\[), at character 3"),
    (#"[a&&b]"#, "an operation on classes (&&), at character 3"),
    (#"[a-z--b]"#, "an operation on classes (--)"),
    (#"\p{Greek}"#, "the property Greek"), (#"[[:word:]]"#, "the class [:word:]"),
    (#"(?z)"#, "the flag or group (?z"),
    ("(", "the group is not closed with a ), at character 1"),
    (")", "there is no ( for this ), at character 1"),
    ("*a", "there is nothing to repeat before it, at character 1"), ("a**", "nothing to repeat"),
    ("^*", "nothing to repeat"), ("{2}", "nothing to repeat"), ("a|*", "nothing to repeat"),
    ("(?i)*", "nothing to repeat"), ("[a", "the class is not closed with a ], at character 1"),
    ("[]a]", "the class is empty"), ("[z-a]", "ascending characters, at character 2"),
    (#"[\d-z]"#, "not the start of a range"), (#"[a-\d]"#, "ascending characters"),
    ("[:alpha:]", "two brackets"),
    ("a{2,1}", "greater"), ("a\\", "ends with a backslash"), (#"\xZ"#, "takes 1 digits"),
    (#"\x{110000}"#, "Unicode scalar"),
    (#"\u{D800}"#, "Unicode scalar"), (#"\pL"#, "in braces"), ("(?<1a>b)", "begins with no digit"),
    ("(?<>b)", "no name"), ("(?<a>b)(?<a>c)", "two groups have the name a"), ("(?#a", "not closed"),
    ("(?i", "not closed"), ("a{1000}{1000}", "nothing to repeat"), ("(?:a{1000}){1000}", "too large"),
    ("(?:(?:a{100}){100}){100}", "too large"), ("a{99999999999999999999}", "too large"),
    ("[a-z&]{30000}", "too large"), (String(repeating: "(", count: 300), "more than 250 levels"),
    (String(repeating: "a", count: 30_000), "too large"),
  ]) func `an expression that cannot be matched in linear time is refused with its place`(
    text: String, reason: String
  ) throws {
    let error = #expect(throws: QueryError.self) { try Pattern(text) }
    #expect(try #require(error).description.contains(reason), "\(error!)")
  }

  /// Each takes exponential or high polynomial time by backtracking, for a run of the letters.
  private static let hostile: [(String, String)] = [
    ("(a+)+$", "a"), ("(a+)+b", "a"), ("(a*)*b", "a"), ("(a*)+b", "a"), ("(a|a)*b", "a"), ("(a|aa)+$", "a"),
    ("(a|a?)+b", "a"), ("(.*a){12}b", "a"), ("(.*)*=", "a"), ("([a-zA-Z]+)*$", "a"), ("^(a+)*$", "a"),
    ("^(([a-z])+.)+[A-Z]([a-z])+$", "a"), ("(x+x+)+y", "x"), ("(?:a?){30}a{30}$", "a"),
    ("a*a*a*a*a*a*b", "a"), (".*.*.*.*=.*", "a"), (#"^(\w+\s?)*$"#, "a"), (#"(\d+)*x"#, "1"),
    (#"^\s+|\s+$"#, " "), (#"(\s*)*x"#, " "), ("(a*a*)*b", "a"), ("((a*)*)*b", "a"), ("(a+a+)+b", "a"),
    ("(ab|a|b)*c", "ab"), ("(a?b?)*c", "ab"), ("^(a?){20}a{20}$", "a"), ("(?i)(a|A)*b", "aA"),
    ("([^b]|a)*b", "a"), ("(.|a)*b", "a"), ("[ab]*a[ab]{12}c", "ab"), ("(a|b)*a(a|b){14}c", "ab"),
    (#"(?:[a-z0-9]+(?:\.[a-z0-9]+)*)+@x"#, "a"), (#"^([\w.]+)+@"#, "a."), (#"(("[^"]*")|[^",]*,)*x"#, "a,"),
    ("(é+)+я", "é"), ("(é|é?)*я", "é"), ("(.*я){5}!", "я"), (#"(?s)(.+)+\z."#, "\n"),
    ("(a{1,20}){1,20}b", "a"), (#"(\b\w+\b ?)*!"#, "a "),
  ]

  /// Returns the number of steps of a search.
  private func steps(_ text: String, in string: String) throws -> Int {
    let pattern = try Pattern(text)
    let steps = QuerySteps {}
    _ = try steps.run { try pattern.matches(string) }
    return steps.count
  }

  @Test(arguments: hostile)
  func `hostile expressions take steps in proportion to the text`(text: String, letters: String) throws {
    let string = String(repeating: letters, count: 4000)
    let length = string.unicodeScalars.count
    let few = try steps(text, in: string)
    let many = try steps(text, in: string + string)
    #expect(many <= 2 * few + few / 50 + 10_000)
    // The size of the program limits what one character takes.
    let size = try Pattern(text).size
    #expect(few <= 2 * size * (length + 1) && size <= PatternProgram.sizeLimit)
  }

  @Test func `a plain word takes one step for each byte`() throws {
    let string = String(repeating: "abcabd", count: 10_000)
    for text in ["abcabe", "^abcabe", "e$", "[x-z]", "(?i)ABCABE", "a.c.*abe"] {
      #expect(try steps(text, in: string) <= string.utf8.count + 100)
    }
    // What can only match at the start is not searched for elsewhere.
    #expect(try steps("^abd", in: string) < 10)
  }

  @Test func `a table and single steps find the same`() throws {
    var random = SeededRandom(seed: 33)
    let parts = [
      "a", "b", "é", ".", "[ab]", "[^a]", #"\w"#, #"\b"#, "^", "$", #"\Z"#, "(a|é)", "(?:ab)*", "a{2,3}",
      "b?", "|",
      "(?m)^", #"\s"#, "(?i)A",
    ]
    let letters = ["a", "b", "é", " ", "\n", "A"]
    for _ in 0..<2000 {
      let text = (0..<Int.random(in: 1...5, using: &random)).map { _ in
        parts.randomElement(using: &random) ?? ""
      }
      .joined()
      guard let pattern = try? Pattern(text) else { continue }
      let string = (0..<Int.random(in: 0...9, using: &random))
        .map { _ in letters.randomElement(using: &random) ?? "" }.joined()
      #expect(
        try pattern.matches(string) == pattern.matchesByStep(string), "\(text) in \(string.debugDescription)")
    }
  }

  @Test func `a cancelled search ends within 10,000 steps`() throws {
    struct Cancelled: Error {}
    for (text, letters) in PatternTests.hostile + [("b", "a")] {
      let string = String(repeating: letters, count: 20_000)
      let pattern = try Pattern(text)
      // Some find a match near the start.
      if try self.steps(text, in: string) < QuerySteps.interval { continue }
      // Ends at the first check, at which it may be late by one report.
      let steps = QuerySteps { throw Cancelled() }
      #expect(throws: Cancelled.self) { try steps.run { try pattern.matches(string) } }
      #expect(steps.count <= 2 * QuerySteps.interval, "\(text)")
    }
  }

  @Test func `a stored expression with another meaning is told from a new one`() throws {
    for text in [#"\bfoo\b"#, #"\w+"#, #"[\W]"#, #"\D"#, "(?i)k+", "e\u{301}*"] {
      let stored = try Pattern(text).storedText
      #expect(stored == "(?#2)" + text)
      #expect(try Pattern(stored: stored).storedText == stored)
      let error = #expect(throws: QueryError.self) { try Pattern(stored: text) }
      #expect(error?.kind == .unsupported)
    }
    for text in ["^a.c$", #"\d+"#, #"\s"#, "(?i)é|k", "[^é-ü]", #"\p{L}"#, #"\R"#] {
      #expect(try Pattern(text).storedText == text && Pattern(stored: text).text == text)
    }
  }
}
