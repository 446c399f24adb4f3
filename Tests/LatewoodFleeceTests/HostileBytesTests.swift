import LatewoodSimulation
import Testing

@testable import LatewoodFleece

/// Bytes that no writer produces cause an answer or an error, and in either case quickly.
@Suite struct HostileBytesTests {
  private static let documents = [
    #"{"foo":123}"#, #"[1,-70000,3000000000,1.5,0.1,"ab","a longer string",null,true,{"k":[{}]}]"#,
    #"{"name":"Ä","tags":["x","tag","tag"],"nested":{"a":{"b":{"c":[1,2,3]}}},"big":18446744073709551615}"#,
  ]

  /// Reads everything in every possible way.
  private func readAll(_ bytes: [UInt8]) {
    let body = FleeceBody(bytes)
    do throws(FleeceError) {
      try body.withRoot { value throws(FleeceError) in try value.validate() }
      // Sound bytes can be written, unless a number in them has no form in JSON.
      do throws(FleeceError) { _ = try JSON.text(of: bytes) } catch { #expect(error.kind == .notFinite) }
    } catch {
      #expect(error.offset != nil)
      #expect((try? JSON.text(of: bytes)) == nil)
    }
    guard let root = try? body.root else { return }
    visit(root, depth: 0)
    _ = try? FleeceDecoder().decode(Loose.self, from: root)
  }

  private func visit(_ element: FleeceElement, depth: Int) {
    _ = try? element.number()
    _ = try? element.string()
    _ = try? element.data()
    _ = try? element.boolean()
    let count = (try? element.count()) ?? 0
    for key in ["foo", "", "name", "zzzz"] { _ = try? element.element(for: key) }
    guard depth < 4 else { return }
    for index in 0..<min(count, 12) {
      if let inner = try? element.element(at: index) { visit(inner, depth: depth + 1) }
    }
    for member in ((try? element.members()) ?? []).prefix(12) { visit(member.value, depth: depth + 1) }
  }

  /// Decodes any value.
  private struct Loose: Decodable {
    init(from decoder: any Decoder) throws {
      if let members = try? decoder.container(keyedBy: PlainKey.self) {
        for key in members.allKeys.prefix(5) { _ = try? members.decode(Loose.self, forKey: key) }
      } else if var elements = try? decoder.unkeyedContainer() {
        for _ in 0..<min(elements.count ?? 0, 5) { _ = try? elements.decode(Loose.self) }
      } else {
        let single = try decoder.singleValueContainer()
        _ = (try? single.decode(Int.self), try? single.decode(Double.self), try? single.decode(String.self))
      }
    }
  }

  @Test func `no flipped bit traps`() throws {
    for document in Self.documents {
      let bytes = try FleeceText.fleece(document)
      for bit in 0..<(8 * bytes.count) {
        var damaged = bytes
        damaged[bit / 8] ^= 1 << UInt8(bit % 8)
        readAll(damaged)
      }
    }
  }

  @Test func `no truncation at either end traps`() throws {
    for document in Self.documents {
      let bytes = try FleeceText.fleece(document)
      for length in 0..<bytes.count {
        readAll(Array(bytes.prefix(length)))
        readAll(Array(bytes.suffix(length)))
      }
    }
  }

  @Test func `random bytes never trap`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<3000 {
      var bytes = random.bytes(2 * (1 + random.below(60)))
      // Collections and pointers are the fragile parts, so there are many of them.
      for index in stride(from: 0, to: bytes.count - 2, by: 2) where random.oneIn(3) {
        let header: [UInt8] = random.pick([
          [0x60, 2], [0x70, 1], [0x68, 3], [0x80, 2], [0x80, 1], [0x08, 0], [0x67, 0xFF],
        ])
        bytes[index] = header[0]
        bytes[index + 1] = header[1]
      }
      bytes[bytes.count - 2] = 0x80
      bytes[bytes.count - 1] = UInt8(random.below(bytes.count / 2))
      readAll(bytes)
    }
  }

  @Test func `random bytes as JSON are refused or round-trip`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    let parts = [
      "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u12", "1", "-", "e5", ".", "true", "nul", " ", "\n", "é",
      "\"a\"", "\"b\":",
    ]
    for _ in 0..<20_000 {
      var text = (0..<random.below(12)).flatMap { _ in Array(random.pick(parts).utf8) }
      if random.oneIn(4) { text += random.bytes(random.below(4)) }
      if let fleece = try? JSON.fleece(from: text) {
        #expect(try JSON.fleece(from: JSON.text(of: fleece)) == fleece, "\(random.replay)")
      }
    }
  }

  @Test func `a few bytes that expand to very many values are refused quickly`() throws {
    // Arrays of two pointers to the previous array: 2^n values in 6n bytes.
    for levels in [20, 40, 400] {
      var bytes: [UInt8] = FleeceText.bytes("6001 0001")
      for _ in 0..<levels {
        bytes += FleeceText.bytes(bytes.count == 4 ? "6002 8003 8004" : "6002 8004 8005")
      }
      bytes += FleeceText.bytes("8003")
      for work in [
        { try FleeceBody(bytes).withRoot { value throws(FleeceError) in try value.validate() } },
        { _ = try JSON.text(of: bytes) },
        {
          var writer = FleeceWriter()
          try FleeceBody(bytes).withRoot { value throws(FleeceError) in try writer.value(value) }
        },
      ] as [() throws -> Void] {
        let error = #expect(throws: FleeceError.self) { try work() }
        #expect(error?.kind == .tooLarge)
      }
    }
  }

  @Test func `pointers to invalid offsets are refused`() throws {
    for hexadecimal in [
      "8000", "8001", "ffff", "0001 8002", "6001 8000 8002", "6001 8002 8002", "6801 80000000 8003",
      "8001 8001",
      "0000 8001 8001", "80000001 80000002 8002",
    ] {
      let error = #expect(throws: FleeceError.self, "\(hexadecimal)") {
        try FleeceBody(FleeceText.bytes(hexadecimal)).withRoot { value throws(FleeceError) in
          try value.validate()
        }
      }
      #expect(error?.kind == .damaged)
    }
  }

  @Test func `a pointer to itself is refused with the right reason`() throws {
    for hexadecimal in ["8000", "0001 8000", "6801 80000000 8003"] {
      let error = #expect(throws: FleeceError.self, "\(hexadecimal)") {
        try FleeceBody(FleeceText.bytes(hexadecimal)).withRoot { value throws(FleeceError) in
          try value.validate()
        }
      }
      #expect(error?.reason.contains("leads to no earlier place") == true, "\(hexadecimal)")
    }
  }

  @Test func `two pointers that follow each other cannot share bytes`() throws {
    // The last two bytes point back by two. Read together with the two bytes before them, they form
    // a wide pointer, which would lead to the start.
    var bytes = FleeceText.bytes("0007")
    bytes += [UInt8](repeating: 0, count: 2 * 0x8001 - 2)
    bytes += FleeceText.bytes("8000 8001")
    #expect(bytes.count - 4 == 2 * 0x8001)
    let error = #expect(throws: FleeceError.self) { _ = try JSON.text(of: bytes) }
    #expect(error?.kind == .damaged)
    // A wide pointer in four separate bytes does lead there.
    bytes.removeLast(2)
    bytes += FleeceText.bytes("8001 8002")
    #expect(try FleeceText.json(bytes) == "7")
  }

  @Test func `a collection cannot count more items than there are bytes, in any encoding`() throws {
    // An array and a dictionary, narrow and wide, of 2047 items, and of enough more that their
    // total length overflows.
    for header in ["67ff", "6fff", "77ff", "7fff"] {
      for shift in 59...63 {
        var count = [UInt8](repeating: 0x80, count: shift / 7)
        count.append(1 << UInt8(shift % 7))
        if count.count % 2 != 0 { count.append(0) }
        let collection = FleeceText.bytes(header) + count
        let bytes = collection + FleeceText.bytes("0000 0000") + [0x80, UInt8(collection.count / 2 + 2)]
        let error = #expect(throws: FleeceError.self, "\(header), 2^\(shift)") {
          _ = try FleeceBody(bytes).root.count()
        }
        #expect(error?.kind == .damaged)
      }
    }
  }

  @Test func `values that overrun their bounds are refused`() throws {
    for hexadecimal in [
      "42 61", "6001 4261 8002", "1100 8001", "6001 1180 8002", "2400 8001",
      "4fff01 00 8002",
      "4fffffffffffffffffff01 00 8006", "67ffffffffffffffffffff7f 8006", "67ff ff7f 8002",
      "6fff ff7f 0000 8003", "7003 0001 8002",
      "7fff ffffffffffffffff7f 00 8006", "4f80 00 00 8002",
    ] {
      #expect(throws: FleeceError.self, "\(hexadecimal)") {
        try FleeceBody(FleeceText.bytes(hexadecimal)).withRoot { value throws(FleeceError) in
          try value.validate()
        }
      }
    }
  }

  @Test func `a collection that overruns the pointer to it is refused before any item is read`() throws {
    for hexadecimal in [
      "6002 0001 8002", "7001 0001 8002", "6801 0001 8002", "7801 0001 0001 0001 8004",
      "67ff 01 00 8002",
    ] {
      let error = #expect(throws: FleeceError.self, "\(hexadecimal)") {
        _ = try FleeceBody(FleeceText.bytes(hexadecimal)).root.count()
      }
      #expect(error?.reason == "a collection runs over the end of its place", "\(hexadecimal)")
    }
  }

  @Test func `untrusted nesting beyond the limit is refused`() throws {
    for (levels, isSound) in [(FleeceLimits.depth - 1, true), (FleeceLimits.depth, false), (20_000, false)] {
      var bytes = FleeceText.bytes("6001 0001")
      for _ in 0..<levels { bytes += FleeceText.bytes("6001 8003") }
      bytes += FleeceText.bytes("8002")
      if isSound {
        try FleeceBody(bytes).withRoot { value throws(FleeceError) in try value.validate() }
      } else {
        let error = #expect(throws: FleeceError.self) { _ = try JSON.text(of: bytes) }
        #expect(error?.kind == .tooDeep)
      }
    }
  }

  @Test func `unsorted or repeated keys, and shared keys without a table, are damage`() throws {
    for hexadecimal in [
      "7002 4162 0001 4161 0002 8005", "7002 4161 0001 4161 0002 8005", "7001 0005 0001 8003",
      "7001 3000 0001 8003",
    ] {
      let error = #expect(throws: FleeceError.self) { _ = try JSON.text(of: FleeceText.bytes(hexadecimal)) }
      #expect(error?.kind == .damaged, "\(hexadecimal)")
    }
  }

  @Test func `a dictionary inherits all members except the ones it removes`() throws {
    // {"a":1,"b":2,"c":3}, then {inherits, "b":undefined, "c":4, "d":5}
    let bytes = FleeceText.bytes(
      "7003 4161 0001 4162 0002 4163 0003 7004 0800 8009 4162 3c00 4163 0004 4164 0005 8009")
    #expect(try FleeceText.json(bytes) == #"{"a":1,"c":4,"d":5}"#)
    let root = try FleeceBody(bytes).root
    #expect(try root.count() == 3)
    #expect(try root.element(for: "a")?.number() == .integer(1))
    #expect(try root.element(for: "b") == nil)
    #expect(try root.element(for: "c")?.number() == .integer(4))
    #expect(try root.element(for: "d")?.number() == .integer(5))
    #expect(try FleeceDecoder().decode([String: Int].self, from: bytes) == ["a": 1, "c": 4, "d": 5])
  }

  @Test func `inheritance is limited in depth`() throws {
    for (levels, isSound) in [
      (FleeceLimits.inheritance - 1, true), (FleeceLimits.inheritance, false), (5000, false),
    ] {
      var bytes = FleeceText.bytes("7001 4161 0001")
      for _ in 0..<levels { bytes += FleeceText.bytes("7001 0800 8005") }
      bytes += FleeceText.bytes("8003")
      if isSound {
        #expect(try FleeceText.json(bytes) == #"{"a":1}"#)
      } else {
        #expect(throws: FleeceError.self) { _ = try FleeceText.json(bytes) }
        #expect(throws: FleeceError.self) { _ = try FleeceBody(bytes).root.element(for: "b") }
      }
    }
  }

  @Test func `numbers that are not finite have no JSON`() throws {
    let error = #expect(throws: FleeceError.self) {
      _ = try FleeceText.json(FleeceText.bytes("2400 0000807f 8003"))
    }
    #expect(error?.kind == .notFinite)
    #expect(try FleeceText.json(FleeceText.bytes("2000 0000c03f 8003")) == "1.5")
  }
}
