import LatewoodSimulation
import LatewoodStore

/// Keys, values and ranges of one style.
struct KeyMaker {
  let style: Int

  func space(_ random: inout SeededRandom) -> String { ["one", "two", "three"][min(random.below(8), 2)] }

  func key(_ random: inout SeededRandom) -> [UInt8] {
    switch style % 6 {
    case 0: return Array(String(100_000 + random.below(3000)).utf8)
    case 1:  // a long common prefix, so that all heads of a node are equal
      return [UInt8](repeating: 9, count: 300) + [UInt8(random.below(4)), UInt8(random.below(256))]
    case 2: return [UInt8(random.below(256))]
    case 3:  // zeros and 255s, and keys that are prefixes of others
      return (0...random.below(9)).map { _ in random.pick([0, 0, 255, 255, 1] as [UInt8]) }
    case 4 where random.oneIn(60):
      return [UInt8](repeating: UInt8(random.below(3)), count: 16384 - random.below(3))
    default: return Array(String(random.below(2000), radix: 3).utf8)
    }
  }

  func value(_ random: inout SeededRandom) -> [UInt8] {
    switch random.below(40) {
    case 0: return []
    case 1: return random.bytes(60 + random.below(10))
    case 2: return random.bytes(508 + random.below(10))
    case 3 where random.oneIn(8): return random.bytes(random.below(40_960))
    case 4 where random.oneIn(400): return random.bytes((1 << 20) - 2 + random.below(1 << 21))
    default: return random.bytes(random.below(24))
    }
  }

  /// A range, and the indexes of the model's keys in it.
  func range(_ random: inout SeededRandom, _ space: OrderedModel.Space) -> (KeyRange, Int, Int) {
    let a = key(&random)
    let b = key(&random)
    let (low, high) = a.isBefore(b) ? (a, b) : (b, a)
    switch random.below(8) {
    case 0: return (.from(low), space.rank(low), space.keys.count)
    case 1: return (.upTo(high), 0, space.rank(high))
    case 2: return (.through(high), 0, space.rank(high + [0]))
    case 3: return (.between(low, through: high), space.rank(low), space.rank(high + [0]))
    case 4:
      let prefix = Array(low.prefix(1 + random.below(low.count)))
      let matching = space.keys.indices.filter { space.keys[$0].starts(with: prefix) }
      let start = space.rank(prefix)
      return (.prefix(prefix), start, start + matching.count)
    case 5:
      return (
        KeyRange(lower: .excluded(low), upper: .excluded(high)), space.rank(low + [0]), space.rank(high)
      )
    case 6 where random.oneIn(20): return (.all, 0, space.keys.count)
    default: return (.between(low, high), space.rank(low), space.rank(high))
    }
  }
}
