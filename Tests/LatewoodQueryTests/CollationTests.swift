import LatewoodDevice
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Keys sort like their values. `LATEWOOD_PAIRS` is the number of random pairs to compare.
@Suite struct CollationTests {
  private static let pairs = Int(CurrentProcess.environmentVariable("LATEWOOD_PAIRS") ?? "") ?? 20_000

  private static func key(
    _ value: FleeceBody?, descending: Bool = false, limit: Int = .max
  ) throws -> CollationKey {
    var key = CollationKey(limit: limit)
    if let value {
      try value.withRoot { root throws(FleeceError) in try key.append(root, descending: descending) }
    } else {
      try key.append(nil, descending: descending)
    }
    return key
  }

  private static func sign(_ left: [UInt8], _ right: [UInt8]) -> Int {
    left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
  }

  @Test func `keys of random values sort like the values, in both directions`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Self.pairs {
      let isNumeric = random.oneIn(2)
      let left = isNumeric ? PlainOrder.number(&random) : .random(&random)
      let right = isNumeric ? PlainOrder.number(&random) : .random(&random)
      let expected = PlainOrder.compare(left, right).signum()
      let (a, b) = (try left.fleece(), try right.fleece())
      let (ascending, other) = (try Self.key(a).bytes, try Self.key(b).bytes)
      let (down, otherDown) = (
        try Self.key(a, descending: true).bytes, try Self.key(b, descending: true).bytes
      )
      guard Self.sign(ascending, other) == expected, Self.sign(down, otherDown) == -expected else {
        Issue.record("\(left) and \(right): \(ascending), \(other); \(random.replay)")
        return
      }
      // Concatenated keys must sort by the first key, so no key may be a prefix of another.
      guard expected == 0 || !(ascending.starts(with: other) || other.starts(with: ascending)) else {
        Issue.record("\(left) and \(right): one key begins with the other; \(random.replay)")
        return
      }
      guard let a, let b else { continue }
      let constant = try Constant(b.root)
      let order = try a.withRoot { root throws(FleeceError) in try constant.compare(root) }
      guard order.signum() == expected else {
        Issue.record("\(left) and \(right): compared as \(order); \(random.replay)")
        return
      }
    }
  }

  @Test func `a value read back from its key has the same key, in both directions`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for round in 0..<Self.pairs / 10 {
      let value = round % 2 == 0 ? PlainOrder.number(&random) : .random(&random)
      let descending = random.oneIn(2)
      let fleece = try value.fleece()
      // Another value follows, as in an index of two fields.
      var key = try Self.key(fleece, descending: descending)
      try key.append(nil)
      let bytes = key.bytes
      let isScalar = try fleece.map {
        try $0.withRoot { root throws(FleeceError) in try ScalarValue(root) } != nil
      }
      let found = bytes.withUnsafeBytes { bytes in
        var reader = CollationReader(bytes)
        return (reader.next(descending: descending), reader.next(descending: false))
      }
      guard isScalar ?? true else {
        #expect(found.0 == nil && found.1 == nil, "\(random.replay)")
        continue
      }
      let scalar = try #require(found.0, "\(value) \(random.replay)")
      #expect(try Self.key(scalar) == Self.key(fleece).bytes, "\(value) \(random.replay)")
      guard case .missing = found.1 else {
        Issue.record("\(value): what follows is \(String(describing: found.1)); \(random.replay)")
        return
      }
      // Truncated or changed bytes are read without a trap.
      var damaged = Array(bytes.prefix(random.below(bytes.count + 1)))
      if !damaged.isEmpty { damaged[random.below(damaged.count)] = UInt8(random.below(256)) }
      damaged.withUnsafeBytes { bytes in
        var reader = CollationReader(bytes)
        while reader.next(descending: descending) != nil {}
      }
    }
  }

  private static func key(_ value: ScalarValue) throws -> [UInt8] {
    var writer = FleeceWriter()
    switch value {
    case .missing: return try key(nil).bytes
    case .null: try writer.null()
    case .boolean(let value): try writer.boolean(value)
    case .number(.integer(let number)): try writer.integer(number)
    case .number(.unsigned(let number)): try writer.unsigned(number)
    case .number(.double(let number)): try writer.double(number)
    case .string(let string): try writer.string(string)
    }
    return try key(FleeceBody(written: try writer.finish())).bytes
  }

  @Test func `equal numbers have one key, in every encoding`() throws {
    let one = try Self.key(PlainOrder.integer(1).fleece()).bytes
    #expect(try Self.key(PlainOrder.double(1).fleece()).bytes == one)
    #expect(NumberKey(.double(1)) == NumberKey(.unsigned(1)))
    #expect(NumberKey(.double(-0.0)) == NumberKey(.integer(0)))
    #expect(NumberKey(.double(0x1p63)) == NumberKey(.unsigned(1 << 63)))
    #expect(NumberKey(.integer(1 << 53)) < NumberKey(.integer(1 << 53 + 1)))
    #expect(NumberKey(.double(.nan)) < NumberKey(.double(-.infinity)))
  }

  @Test(arguments: 0...40) func `a truncated key is marked and keeps its beginning`(limit: Int) throws {
    let body = FleeceBody(try JSON.fleece(from: #"["abc\u0000def", 12, {"a": [1, 2]}, null]"#))
    let whole = try Self.key(body)
    #expect(!whole.isCut && whole.bytes.count > 40)
    let cut = try Self.key(body, limit: limit)
    #expect(cut.isCut)
    #expect(cut.bytes == Array(whole.bytes.prefix(limit)))
    let exact = try Self.key(body, limit: whole.bytes.count)
    #expect(!exact.isCut && exact.bytes == whole.bytes)
  }
}
