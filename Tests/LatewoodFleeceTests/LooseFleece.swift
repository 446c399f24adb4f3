import LatewoodSimulation

@testable import LatewoodFleece

/// Encodes values as another writer might: numbers in forms that are longer than necessary, wide
/// collections, nothing inline, nothing shared.
struct LooseFleece {
  private var bytes: [UInt8] = []
  private var random: SeededRandom

  static func encode(_ value: PlainValue, _ random: SeededRandom) -> [UInt8] {
    var writer = LooseFleece(random: random)
    let root = writer.write(value)
    writer.append(pointerTo: root, isWide: true)
    let place = writer.bytes.count - 4
    writer.append(pointerTo: place, isWide: false)
    return writer.bytes
  }

  private init(random: SeededRandom) { self.random = random }

  private mutating func append(pointerTo target: Int, isWide: Bool) {
    let units = (bytes.count - target) / 2
    if isWide { bytes += [UInt8(units >> 24) | 0x80, UInt8(units >> 16 & 0xFF)] }
    bytes += [UInt8(units >> 8 & 0xFF) | (isWide ? 0 : 0x80), UInt8(units & 0xFF)]
  }

  /// Returns the offset of the value.
  private mutating func write(_ value: PlainValue) -> Int {
    switch value {
    case .null: scalar([0x30, 0])
    case .boolean(let value): scalar([value ? 0x38 : 0x34, 0])
    case .integer(let value):
      if let exact = Double(exactly: value), random.oneIn(2) {
        double(exact)
      } else {
        scalar([0x17] + littleEndian(UInt64(bitPattern: value)))
      }
    case .unsigned(let value):
      if let exact = Double(exactly: value), random.oneIn(2) {
        double(exact)
      } else {
        scalar([0x1F] + littleEndian(value))
      }
    case .double(let value): double(value)
    case .string(let value): text(value)
    case .array(let values):
      collection(0x60, count: values.count, values.map { write($0) })
    case .object(let members):
      collection(
        0x70, count: members.count,
        members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
          .flatMap { [text($0.key), write($0.value)] })
    }
  }

  private func littleEndian(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
  }

  private mutating func double(_ value: Double) -> Int { scalar([0x28, 0] + littleEndian(value.bitPattern)) }

  private mutating func text(_ value: String) -> Int {
    var (head, count): ([UInt8], Int) = ([0x4F], value.utf8.count)
    repeat {
      head.append(UInt8(count & 127) | (count > 127 ? 128 : 0))
      count >>= 7
    } while count > 0
    return scalar(head + value.utf8)
  }

  private mutating func scalar(_ content: [UInt8]) -> Int {
    if bytes.count % 2 != 0 { bytes.append(0) }
    let place = bytes.count
    bytes += content
    if bytes.count % 2 != 0 { bytes.append(0) }
    return place
  }

  private mutating func collection(_ tag: UInt8, count: Int, _ targets: [Int]) -> Int {
    let inline = min(count, 2047)
    let place = scalar([tag | 0x08 | UInt8(inline >> 8), UInt8(inline & 255)])
    if inline == 2047 {
      var rest = count - inline
      var head: [UInt8] = []
      repeat {
        head.append(UInt8(rest & 127) | (rest > 127 ? 128 : 0))
        rest >>= 7
      } while rest > 0
      _ = scalar(head)
    }
    for target in targets { append(pointerTo: target, isWide: true) }
    return place
  }
}
