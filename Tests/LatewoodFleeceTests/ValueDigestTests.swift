import LatewoodSimulation
import Testing

@testable import LatewoodFleece

/// The hash of a value, which names revisions. Its vectors are tested with the ids of revisions.
@Suite struct ValueDigestTests {
  private func digest(_ bytes: [UInt8]) throws -> [UInt64] {
    var hash = ValueHash()
    try FleeceBody(bytes).withRoot { root throws(FleeceError) in try root.digest(into: &hash) }
    let (first, second) = hash.finish()
    return [first, second]
  }

  /// The digest by the slower walk, which handles every form.
  private func digestByWalk(_ bytes: [UInt8]) throws -> [UInt64] {
    var hash = ValueHash()
    try FleeceBody(bytes).withRoot { root throws(FleeceError) in try root.digestByWalk(into: &hash) }
    let (first, second) = hash.finish()
    return [first, second]
  }

  private func digest(ofBytes count: Int, _ start: UnsafeRawPointer) -> [UInt64] {
    var hash = ValueHash()
    hash.absorb(.data, UnsafeRawBufferPointer(start: start, count: count))
    let (first, second) = hash.finish()
    return [first, second]
  }

  @Test func `equal values have equal digests in every encoding`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<400 {
      let value = PlainValue.random(&random)
      let canonical = try FleeceText.fleece(value.text)
      let loose = LooseFleece.encode(value, random)
      #expect(try FleeceText.json(loose) == value.text, "\(random.replay)")
      #expect(try digest(canonical) == digest(loose), "\(value.text) \(random.replay)")
      #expect(try digest(canonical) == digestByWalk(loose), "\(value.text) \(random.replay)")
    }
  }

  @Test func `a change of any part changes the digest`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var seen: [[UInt64]: String] = [:]
    for _ in 0..<300 {
      let value = PlainValue.random(&random)
      for text in [value.text] + (0..<10).map({ _ in value.changed(&random).text }) {
        let found = try digest(FleeceText.fleece(text))
        #expect(seen[found] ?? text == text, "\(random.replay)")
        seen[found] = text
      }
    }
    #expect(seen.count > 1000)
  }

  @Test func `values of different types and shapes have different digests`() throws {
    let texts = [
      "null", "false", "true", "0", "-0.0", "1", "1.5", "\"\"", "\"0\"", "\"null\"", "[]", "{}", "[[]]",
      "[{}]",
      "[[],[]]", "[[[]]]", "[null]", "[null,null]", "[1,[2]]", "[[1],2]", "[1,2]", #"{"":null}"#, #"{"a":1}"#,
      #"["a",1]"#, #"{"a":{"b":1}}"#, #"{"a":{},"b":1}"#, #"{"a":"b"}"#, #"["a","b"]"#, #"["ab"]"#,
      #"["ab",""]"#,
      #"["","ab"]"#, #""a\u0000""#, #""a""#, #""12345678""#, #""12345678\u0000""#, "18446744073709551615",
      "-1",
    ]
    let digests = try texts.map { try digest(FleeceText.fleece($0)) }
    #expect(Set(digests).count == texts.count)
    #expect(try digest([0x41, 0x61]) != digest([0x51, 0x61]))
  }

  @Test(arguments: ["null", "false", "true", "0", "7", "\"\"", "[]", "{}"])
  func `arrays of equal elements have different digests for every number of them`(element: String) throws {
    var (arrays, nested): (Set<[UInt64]>, Set<[UInt64]>) = ([], [])
    for count in 0..<700 {
      let elements = Array(repeating: element, count: count).joined(separator: ",")
      arrays.insert(try digest(FleeceText.fleece("[\(elements)]")))
      if count < 400 {
        let text = String(repeating: "[", count: count) + element + String(repeating: "]", count: count)
        nested.insert(try digest(FleeceText.fleece(text)))
      }
    }
    #expect(arrays.count == 700 && nested.count == 400)
  }

  @Test func `long runs of zeros keep the digests of what is before and after them apart`() {
    var seen: Set<[UInt64]> = []
    for count in [100, 1000, 5000] {
      for place in [0, count - 1] {
        for byte in 0..<64 as Range<UInt8> {
          var bytes = [UInt8](repeating: 0, count: count)
          bytes[place] = byte
          if byte > 0 || place == 0 { seen.insert(digest(ofBytes: count, bytes)) }
        }
      }
    }
    #expect(seen.count == 3 * 127)
  }

  @Test func `each bit of bytes of every length changes about half of the digest`() {
    var random = SeededRandom(seed: 7)
    for count in 1...100 {
      var bytes = random.bytes(count)
      let before = digest(ofBytes: count, bytes)
      for bit in 0..<8 * count {
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        let after = digest(ofBytes: count, bytes)
        bytes[bit / 8] ^= 1 << UInt8(bit % 8)
        for (old, new) in zip(before, after) {
          let changed = (old ^ new).nonzeroBitCount
          #expect((8...56).contains(changed), "bit \(bit) of \(count) bytes changes \(changed) bits of 64")
        }
      }
    }
  }

  @Test func `an object that inherits has the digest of its members`() throws {
    let inheriting = FleeceText.bytes("7001 4161 0001 7002 0800 8005 4162 0002 8005")
    #expect(try FleeceText.json(inheriting) == #"{"a":1,"b":2}"#)
    let plain = try FleeceText.fleece(#"{"a":1,"b":2}"#)
    #expect(try digest(inheriting) == digest(plain) && digestByWalk(plain) == digest(plain))
    let nested = FleeceText.bytes("7001 4161 0001 7002 0800 8005 4162 0002 6001 8006 8002")
    #expect(try FleeceText.json(nested) == #"[{"a":1,"b":2}]"#)
    #expect(try digest(nested) == digest(FleeceText.fleece(#"[{"a":1,"b":2}]"#)))
  }

  @Test func `texts of zeros differ by their lengths`() {
    let zeros = [UInt8](repeating: 0, count: 300)
    #expect(Set((0...300).map { digest(ofBytes: $0, zeros) }).count == 301)
  }

  @Test func `damaged bytes are refused, and nothing beyond them is read`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    var refused = 0
    for _ in 0..<2000 {
      var bytes = try FleeceText.fleece(PlainValue.random(&random).text)
      for _ in 0...random.below(3) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      let found = Result { try digest(bytes) }
      let expected = Result { try digestByWalk(bytes) }
      #expect((try? found.get()) == (try? expected.get()), "\(random.replay)")
      if case .failure = found { refused += 1 }
    }
    #expect(refused > 100)
    let deep = String(repeating: "[", count: 512) + String(repeating: "]", count: 512)
    _ = try digest(FleeceText.fleece(deep))
    var deeper: [UInt8] = [0x60, 0]
    for _ in 0..<513 { deeper += [0x60, 1, 0x80, 2] }
    deeper += [0x80, 2]
    #expect(throws: FleeceError.self) { try digest(deeper) }
  }
}

extension PlainValue {
  /// Returns a copy in which one part usually differs.
  fileprivate func changed(_ random: inout SeededRandom) -> PlainValue {
    switch self {
    case .integer(let value) where random.oneIn(2): return .integer(value ^ 1 << Int64(random.below(63)))
    case .string(let value): return .string(value + random.pick(["x", "0", " "]))
    case .array(var values) where !values.isEmpty:
      let place = random.below(values.count)
      switch random.below(3) {
      case 0: values.remove(at: place)
      case 1: values.swapAt(place, random.below(values.count))
      default: values[place] = values[place].changed(&random)
      }
      return .array(values)
    case .object(var members) where !members.isEmpty:
      let name = random.pick(members.keys.sorted())
      let value = members[name] ?? .null
      if random.oneIn(3) {
        members[name] = nil
        members[name + "'"] = value
      } else {
        members[name] = value.changed(&random)
      }
      return .object(members)
    case .null, .boolean, .integer, .unsigned, .double, .array, .object: return .random(&random)
    }
  }
}
