import LatewoodBytes
import LatewoodFleece
import LatewoodSimulation
import Testing

@testable import LatewoodQuery

/// Constants and keys from the fast paths, compared with those from the general code.
@Suite struct ConstantTests {
  private static func general(_ write: (inout FleeceWriter) throws -> Void) throws -> Constant {
    var writer = FleeceWriter()
    try write(&writer)
    return try Constant(fleece: writer.finish())
  }

  private static func stored(_ constant: Constant) throws -> [UInt8] {
    var writer = FleeceWriter()
    try constant.write(to: &writer)
    return try writer.finish()
  }

  @Test func `a constant made from a plain value equals one made from its Fleece`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<2000 {
      let integer = Int64(bitPattern: random.next()) >> Int64(random.below(64))
      let text = String(
        decoding: (0..<random.below(20)).map { _ in UInt8(random.below(128)) }, as: UTF8.self)
      let isTrue = random.oneIn(2)
      let pairs = [
        (Constant(integer), try Self.general { try $0.integer(integer) }),
        (Constant(text), try Self.general { try $0.string(text) }),
        (Constant(isTrue), try Self.general { try $0.boolean(isTrue) }),
      ]
      let other = try PlainOrder.random(&random).fleece()
      for (plain, general) in pairs {
        #expect(plain.tag == general.tag && plain.key == general.key, "\(random.replay)")
        #expect(try Self.stored(plain) == Self.stored(general), "\(random.replay)")
        let orders = try other?.withRoot { root throws(FleeceError) in
          [try plain.compare(root).signum(), try general.compare(root).signum()]
        }
        #expect(orders?[0] == orders?[1], "\(random.replay)")
        #expect(plain.text == general.text && plain.isNull == general.isNull)
      }
    }
  }

  @Test func `a truncated key is a prefix of the whole key`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<2000 {
      let values = try (0..<1 + random.below(3)).map { _ in try PlainOrder.random(&random).fleece() }
      func key(limit: Int) throws -> CollationKey {
        var key = CollationKey(limit: limit)
        for value in values {
          if let value {
            try value.withRoot { root throws(FleeceError) in try key.append(root) }
          } else {
            try key.append(nil)
          }
        }
        return key
      }
      let whole = try key(limit: .max).bytes
      let limit = random.below(whole.count + 2)
      let cut = try key(limit: limit)
      #expect(
        cut.bytes == Array(whole.prefix(limit)) && cut.isCut == (limit < whole.count), "\(random.replay)")
    }
  }

  @Test func `the successor of a prefix is the least key after all keys that start with it`() {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<2000 {
      let prefix = (0..<random.below(4)).map { _ in UInt8(random.pick([0, 1, 254, 255])) }
      guard let next = KeyOrder.successor(ofPrefix: prefix) else {
        #expect(prefix.allSatisfy { $0 == 255 }, "\(random.replay)")
        continue
      }
      let other = (0..<random.below(5)).map { _ in UInt8(random.pick([0, 1, 2, 254, 255])) }
      let isAfter = !other.starts(with: prefix) && prefix.lexicographicallyPrecedes(other)
      #expect(isAfter == !other.lexicographicallyPrecedes(next), "\(prefix) \(other) \(random.replay)")
    }
  }
}
