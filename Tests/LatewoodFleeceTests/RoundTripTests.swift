import LatewoodSimulation
import Testing

@testable import LatewoodFleece

@Suite struct RoundTripTests {
  @Test func `random values round-trip, however they are written`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<300 {
      let value = PlainValue.random(&random)
      let fleece = try FleeceText.fleece(value.text)
      #expect(try FleeceText.json(fleece) == value.text, "\(random.replay)")
      let disguised = try FleeceText.fleece(value.disguised(&random))
      let isSame = disguised == fleece
      #expect(isSame, "\(random.replay)")
      let indented = try FleeceText.fleece(FleeceText.json(fleece, .indented))
      #expect(indented == fleece, "\(random.replay)")
    }
  }

  @Test func `a parser sorts members by name, regardless of the objects it parsed before`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let names = ["b", "a", "thumbnail_width", "thumbnail", "thumbnail_height"]
    var parser = JSONParser()
    for number in 0..<3_000 {
      // Often as many as before, in another order, and with names that occur twice.
      let members = (0..<random.below(5)).map {
        "\"\(random.pick(names))\":[\(number), \($0)]"
      }
      let text = "{\(members.joined(separator: ","))}"
      let fleece = try parser.parse(text)
      let isSame = try fleece == FleeceText.fleece(text)
      #expect(isSame, "\(text), \(random.replay)")
    }
  }

  @Test func `a copy has the same bytes`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var writer = FleeceWriter()
    for _ in 0..<100 {
      let fleece = try FleeceText.fleece(PlainValue.random(&random).text)
      let body = FleeceBody(fleece)
      let copy = try body.withRoot { value throws(FleeceError) in
        try writer.value(value)
        return try writer.finish()
      }
      #expect(copy == fleece, "\(random.replay)")
    }
  }

  @Test func `integers around every boundary are exact`() throws {
    var numbers = Set(-2060...2060 as ClosedRange<Int64>)
    for power in 0..<63 {
      for difference in -2...2 as ClosedRange<Int64> {
        numbers.insert((1 << Int64(power)) + difference)
        numbers.insert(-(1 << Int64(power)) + difference)
      }
    }
    numbers.formUnion([Int64.max, .max - 1, .min, .min + 1])
    for number in numbers {
      #expect(try FleeceText.canonical("\(number)") == "\(number)")
      #expect(try FleeceText.canonical("[\(number),70000,70000]") == "[\(number),70000,70000]")
    }
    for number in [0, 1, 2, 1 << 62].map({ UInt64.max - $0 }) + [
      0x8000_0000_0000_0000, 0x8000_0000_0000_0001,
    ] as [UInt64] {
      #expect(try FleeceText.canonical("\(number)") == "\(number)")
    }
  }

  @Test func `equal numbers have the same bytes`() throws {
    for texts in [
      ["1", "1.0", "1e0", "10e-1", "0.1e1", "1.000000000000000000000000"],
      ["0", "-0", "0.0", "0e5", "1e-400"],
      ["10000000000000000000", "1e19"], ["-9223372036854775808", "-9.223372036854775808e18"],
      ["18446744073709551616", "1.8446744073709552e19", "18446744073709551616.0"],
    ] {
      let first = try FleeceText.fleece(texts[0])
      for text in texts { #expect(try FleeceText.fleece(text) == first, "\(text)") }
    }
    #expect(try FleeceText.fleece("-0.0") != FleeceText.fleece("0"))
    #expect(try FleeceText.canonical("[-0.0]") == "[-0.0]")
  }

  @Test func `every way of reading a double gives the nearest one`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for round in 0..<20_000 {
      let digits = random.next() >> UInt64(random.below(64))
      let exponent = random.below(round.isMultiple(of: 10) ? 700 : 60) - (round.isMultiple(of: 10) ? 350 : 30)
      let text = "\(digits)e\(exponent)"
      guard let expected = Double(text) else { continue }
      if let found = DecimalNumber.double(digits, exponent) {
        #expect(found.bitPattern == expected.bitPattern, "\(text), \(random.replay)")
      }
      if expected.isFinite, round.isMultiple(of: 20) {
        let value = try FleeceBody(FleeceText.fleece("[0.5,\(text)]")).root.element(at: 1)?.number()
        switch value {
        case .double(let found)?: #expect(found == expected, "\(text)")
        case .integer(let found)?: #expect(Double(found) == expected, "\(text)")
        case .unsigned(let found)?: #expect(Double(found) == expected, "\(text)")
        case nil: Issue.record("no number")
        }
      }
    }
  }

  @Test func `ties between two doubles round to even`() throws {
    // 2^53 + 1 and its neighbours, and halves further up, all exact in decimal digits.
    for text in [
      "9007199254740993.0", "9007199254740995.0", "9007199254740992.5", "18014398509481990e0",
      "9007199254740993e10", "36028797018963971e-1",
      "0.500000000000000166533453693773481063544750213623046875",
      "1.00000000000000011102230246251565404236316680908203125",
      "1.00000000000000011102230246251565404236316680908203124",
      "1.00000000000000011102230246251565404236316680908203126", "2.2250738585072011e-308", "5e-324",
      "4.9e-324",
      "2.4703282292062327e-324", "2.4703282292062328e-324", "1.7976931348623157e308",
    ] {
      let found = try FleeceBody(FleeceText.fleece("\(text)")).root.number()
      let expected = try #require(Double(text))
      switch found {
      case .double(let value)?: #expect(value == expected, "\(text)")
      case .integer(let value)?: #expect(Double(value) == expected, "\(text)")
      default: Issue.record("\(text)")
      }
    }
  }

  @Test func `random doubles are written so that they read back unchanged`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<5000 {
      let value = Double(bitPattern: random.next())
      guard value.isFinite else { continue }
      var writer = FleeceWriter()
      try writer.double(value)
      let fleece = try writer.finish()
      let text = try FleeceText.json(fleece)
      #expect(try FleeceText.fleece(text) == fleece, "\(text), \(random.replay)")
    }
  }

  @Test func `collections and pointers beyond 64 KiB are wide`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let words = (0..<3000).map { _ in String(random.next(), radix: 36) + String(random.next(), radix: 36) }
    let array = "[" + words.map { "\"\($0)\"" }.joined(separator: ",") + "]"
    let fleece = try FleeceText.fleece(array)
    let isWide = try FleeceBody(fleece).withRoot { value throws(FleeceError) in
      try value.array()?.items.isWide
    }
    #expect(isWide == true)
    #expect(try FleeceText.json(fleece) == array)
    let object = "{" + words.sorted().map { "\"\($0)\":\"\($0)\"" }.joined(separator: ",") + "}"
    let dictionary = try FleeceText.fleece(object)
    #expect(try FleeceText.json(dictionary) == object)
    let body = FleeceBody(dictionary)
    for word in words { #expect(try body.root.element(for: word)?.string() == word) }
    #expect(try body.root.element(for: "none") == nil)
    #expect(try body.root.count() == Set(words).count)
  }
}
