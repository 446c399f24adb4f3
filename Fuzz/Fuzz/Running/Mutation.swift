import LatewoodSimulation

/// Derives an input from others: a few changes, most of them small, followed by a repair.
struct Mutation {
  private static let telling: [UInt64] = [
    0, 1, 2, 7, 8, 16, 20, 32, 63, 64, 100, 127, 128, 255, 256, 511, 512, 1023, 1024, 4095, 4096, 16383,
    16384, 16388,
    32767, 32768, 65535, 65536, 1 << 20, 1 << 24, 1 << 31 - 1, 1 << 31, 1 << 32 - 1, 1 << 32, 1 << 40,
    1 << 48,
    1 << 62, 1 << 63 - 1, 1 << 63, .max - 55, .max - 7, .max - 1, .max,
  ]

  private let inputs: [[UInt8]]
  private let target: any FuzzTarget
  private var random: SeededRandom

  init(of inputs: [[UInt8]], for target: any FuzzTarget, _ random: SeededRandom) {
    self.inputs = inputs
    self.target = target
    self.random = random
  }

  mutating func run() -> [UInt8] {
    var bytes = inputs.isEmpty ? [] : random.pick(inputs)
    if inputs.isEmpty || random.oneIn(64) { bytes = random.bytes(1 + random.below(64)) }
    for _ in 0...random.below(random.oneIn(4) ? 12 : 3) {
      if let window = target.window(bytes, &random), !window.isEmpty {
        replace(&bytes, in: window)
      } else if random.oneIn(2), !bytes.isEmpty {
        replace(&bytes, in: 0..<bytes.count)
      } else {
        resize(&bytes)
      }
    }
    if bytes.count > target.longest { bytes.removeLast(bytes.count - target.longest) }
    if !random.oneIn(8) { target.repair(&bytes) }
    return bytes
  }

  /// Makes changes that keep the length.
  private mutating func replace(_ bytes: inout [UInt8], in window: Range<Int>) {
    let at = window.lowerBound + random.below(window.count)
    switch random.below(8) {
    case 0, 1: bytes[at] ^= 1 << UInt8(random.below(8))
    case 2: bytes[at] = UInt8(random.below(256))
    case 3: bytes[at] &+= random.oneIn(2) ? 1 : 255
    case 4:
      var value = random.pick(Self.telling)
      if random.oneIn(4) { value = 0 &- value }
      put(value, 1 << random.below(4), at, &bytes, window)
    case 5 where !target.words.isEmpty:
      for (index, byte) in random.pick(target.words).enumerated() where window.contains(at + index) {
        bytes[at + index] = byte
      }
    case 6:
      // Copies a piece from elsewhere: bytes that are valid there may be wrong here.
      let source = random.oneIn(3) && !inputs.isEmpty ? random.pick(inputs) : bytes
      guard !source.isEmpty else { return }
      let from = random.below(source.count)
      for index in 0...random.below(16) where window.contains(at + index) && from + index < source.count {
        bytes[at + index] = source[from + index]
      }
    default:
      for index in at..<min(window.upperBound, at + 1 + random.below(8)) {
        bytes[index] = UInt8(random.below(256))
      }
    }
  }

  private mutating func put(
    _ value: UInt64, _ width: Int, _ at: Int, _ bytes: inout [UInt8], _ window: Range<Int>
  ) {
    let isBigEndian = random.oneIn(3)
    for index in 0..<width where window.contains(at + index) {
      let shift = UInt64(isBigEndian ? width - 1 - index : index) * 8
      bytes[at + index] = UInt8(truncatingIfNeeded: value &>> shift)
    }
  }

  /// Makes changes of the length.
  private mutating func resize(_ bytes: inout [UInt8]) {
    let at = random.below(bytes.count + 1)
    switch random.below(6) {
    case 0 where bytes.count > 1: bytes.removeSubrange(at..<min(bytes.count, at + 1 + random.below(16)))
    case 1 where bytes.count > 1: bytes.removeLast(random.below(bytes.count))
    case 2 where !target.words.isEmpty: bytes.insert(contentsOf: random.pick(target.words), at: at)
    case 3 where !bytes.isEmpty:
      let from = random.below(bytes.count)
      let piece = Array(bytes[from..<min(bytes.count, from + 1 + random.below(32))])
      for _ in 0...(random.oneIn(16) ? random.below(200) : 0) where bytes.count < target.longest {
        bytes.insert(contentsOf: piece, at: at)
      }
    case 4 where !inputs.isEmpty:
      let other = random.pick(inputs)
      bytes = Array(bytes.prefix(at)) + other.suffix(random.below(other.count + 1))
    default: bytes.insert(contentsOf: random.bytes(1 + random.below(8)), at: at)
    }
  }
}
