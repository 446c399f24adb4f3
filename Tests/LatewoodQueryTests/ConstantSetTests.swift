import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Conditions with many values compare a value with few of them.
@Suite struct ConstantSetTests {
  /// A value whose fields are counted when they are read.
  private final class CountedSource: FieldSource {
    private let body: FleeceBody
    private(set) var reads = 0

    init(_ text: String) throws { body = FleeceBody(try JSON.fleece(from: text)) }

    func withField<R>(
      _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
    ) throws(FleeceError) -> R {
      reads += 1
      return try self.body.withRoot { root throws(FleeceError) in try body(path.lookup(in: root)) }
    }
  }

  private static let values = [
    "null", "true", "false", "0", "1", "1.0", "-7", "2.5", "1e3", "1000", "\"\"", "\"a\"", "\"ab\"",
    "\"\\u00e9\"", "\"e\\u0301\"", "[]", "[1]", "[\"a\", 2]", "{}", "{\"a\": 1}",
  ]

  @Test(arguments: [1, 2, 1000, 10_000])
  func `a value is found among n in about log n comparisons`(count: Int) throws {
    let set = ConstantSet((0..<count).map { Constant(Int64($0 * 7 % count * 2)) })
    let most = Int.bitWidth - count.leadingZeroBitCount
    for number in stride(from: -1, to: 2 * count + 1, by: max(1, count / 50)) {
      let wanted = Constant(Int64(number))
      var comparisons = 0
      let place = set.place { constant in
        comparisons += 1
        return Constant.order(wanted.key, constant.key)
      }
      #expect(comparisons <= most)
      #expect((place != nil) == (number >= 0 && number < 2 * count && number % 2 == 0), "\(number)")
    }
  }

  @Test func `a set finds what comparing with each of its values finds`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<300 {
      let list = (0..<random.below(6)).map { _ in random.pick(Self.values) }
      let constants = try list.map { try Constant(FleeceBody(JSON.fleece(from: $0)).root) }
      let set = ConstantSet(constants)
      let array = (0..<random.below(5)).map { _ in random.pick(Self.values) }
      for text in Self.values + ["[" + array.joined(separator: ",") + "]"] {
        try FleeceBody(JSON.fleece(from: text)).withRoot { value throws(FleeceError) in
          var isThere = false
          for constant in constants where try constant.isEqual(value) { isThere = true }
          #expect(try set.contains(value) == isThere, "\(text) in \(list): \(random.replay)")
          guard let elements = try value.array() else { return }
          var areAll = true
          for constant in constants {
            var isElement = false
            for index in 0..<elements.count where try constant.isEqual(elements.value(at: index)) {
              isElement = true
            }
            areAll = areAll && isElement
          }
          #expect(try set.areAll(in: elements) == areAll, "\(list) in \(text): \(random.replay)")
        }
      }
    }
  }

  @Test func `many equalities of one field in an OR read the field once`() throws {
    let sides = (0..<10_000).map { #"{"n": \#($0)}"# } + [#"{"m": 1}"#]
    let predicate = try MangoParser.predicate(json: #"{"$or": [\#(sides.joined(separator: ","))]}"#)
    var joined = predicate
    joined.joinEqualities()
    for (text, isMet, reads) in [
      (#"{"n": 9999.0}"#, true, 1), (#"{"n": 10000}"#, false, 2), (#"{"m": 1}"#, true, 2),
      (#"{"n": [1]}"#, false, 2),
    ] {
      let source = try CountedSource(text)
      #expect(try joined.matches(source) == isMet && source.reads == reads, "\(text)")
      #expect(try predicate.matches(source) == isMet)
    }
    // A stored condition keeps the form that every version reads.
    #expect(try MangoParser.stored(FleeceBody(joined.selector()).root).matches(CountedSource(#"{"n": 5}"#)))
  }

  @Test func `an IN of SQL takes few steps for any expression`() throws {
    var bench = try SQLBench([#"{"s": "v9000", "n": null}"#, #"{"s": "x"}"#, #"{"n": 1}"#])
    bench.limits.steps = 100
    let list = "[" + (0..<10_000).map { #""v\#($0)""# }.joined(separator: ",") + "]"
    for (condition, found) in [
      ("s IN $list", ["a"]), ("LOWER(s) IN $list", ["a"]), ("NOT (LOWER(s) IN $list)", ["b"]),
      ("s NOT IN $list", ["b"]), ("LOWER(n) IN $list", []),
    ] {
      let rows = try bench.rows("SELECT meta().id FROM c WHERE \(condition)", ["list": list])
      #expect(rows == found.map { #"{"id":"\#($0)"}"# }, "\(condition)")
    }
    // An unknown element might be equal to anything.
    let unknown = #"["v9000", null]"#
    #expect(try bench.rows("SELECT s FROM c WHERE LOWER(s) NOT IN $list", ["list": unknown]).isEmpty)
    #expect(try bench.rows("SELECT s FROM c WHERE LOWER(s) IN $list", ["list": unknown]).count == 1)
  }

  @Test func `bounds of an index have no more ranges than a limit, and many conditions are joined`() throws {
    let numbers = (0..<10_000).map { "\($0)" }.joined(separator: ",")
    let few = (0..<60).map { "\($0)" }.joined(separator: ",")
    let index = try IndexDefinition([.init(FieldPath("a")), .init(FieldPath("b"))])
    let both = try MangoParser.predicate(json: #"{"a": {"$in": [\#(few)]}, "b": {"$in": [\#(numbers)]}}"#)
    let bounds = try #require(index.bounds(for: Conjunction(both)))
    #expect(bounds.ranges.count <= 61 && !bounds.isWhole)
    // The gaps between many excluded values.
    let excluded = (0..<3000).map { #"{"a": {"$ne": \#($0)}}"# }.joined(separator: ",")
    let single = try IndexDefinition([.init(FieldPath("a"))])
    let rest = try MangoParser.predicate(json: #"{"$and": [\#(excluded)]}"#)
    #expect(single.bounds(for: Conjunction(rest))?.ranges.count == 3001)
  }
}
