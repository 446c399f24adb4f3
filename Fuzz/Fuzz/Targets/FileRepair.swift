import LatewoodBytes
import LatewoodSimulation

/// Corrects checksums after a mutation, so that the mutation reaches the code behind them.
/// FORMAT.md specifies their offsets.
enum FileRepair {
  /// Repairs headers, slots, and every frame and node that contains its true offset. This takes
  /// several rounds, because a parent contains part of its child's checksum.
  static func run(_ bytes: inout [UInt8]) {
    guard bytes.count > 16384 else { return }
    bytes.withUnsafeMutableBytes { memory in
      guard let base = memory.baseAddress else { return }
      let source = UnsafeRawPointer(base)
      for header in [0, 4096] { base.set(XXH64.hash(source + header, 4088, seed: 0), at: header + 4088) }
      let seed = XXH64.hash(source + 16, 16, seed: 0)
      for slot in [8192, 12288] { base.set(XXH64.hash(source + slot + 8, 56, seed: seed), at: slot) }
      for offset in stride(from: 16384, to: memory.count - 56, by: 8) {
        frame(base, offset, memory.count, seed)
        if offset % 64 == 0 { node(base, offset, memory.count, seed) }
      }
    }
  }

  private static func frame(_ base: UnsafeMutableRawPointer, _ offset: Int, _ size: Int, _ seed: UInt64) {
    let source = UnsafeRawPointer(base) + offset
    guard source.u32(8) == 0x5246_574C, source.u64(16) == UInt64(offset) else { return }
    let isNodes = source.u8(12) == 2
    let payload = source.u64(48)
    guard isNodes || payload <= UInt64(size - offset - 56) else { return }
    base.set(XXH64.hash(source + 8, isNodes ? 48 : 48 + Int(payload), seed: seed), at: offset)
  }

  private static func node(_ base: UnsafeMutableRawPointer, _ offset: Int, _ size: Int, _ seed: UInt64) {
    let source = UnsafeRawPointer(base) + offset
    let length = Int(source.u32(12))
    guard source.u64(16) == UInt64(offset), length >= 40, length <= min(65535, size - offset) else { return }
    let sum = XXH64.hash(source + 8, length - 8, seed: seed)
    let old = source.u32(0)
    base.set(sum, at: offset)
    // References with the offset, the length and the old checksum must follow.
    for place in stride(from: 16384, to: size - 16, by: 4) {
      let reference = UnsafeRawPointer(base) + place
      if reference.u64(0) == UInt64(offset), reference.u32(12) == old, reference.u32(8) == UInt32(length) {
        base.set(UInt32(truncatingIfNeeded: sum), at: place + 12)
      }
    }
  }

  /// Returns a part of the file where changes are effective: fields of the header and the slots,
  /// the header of a frame, a node or a payload.
  static func window(_ bytes: [UInt8], _ random: inout SeededRandom, nodes: Bool) -> Range<Int>? {
    guard bytes.count > 16384 + 56 else { return nil }
    switch random.below(16) {
    case 0: return [0..<64, 4096..<4160][random.below(2)]
    case 1, 2: return [8192..<8256, 12288..<12352][random.below(2)]
    case 3: return nil
    default: break
    }
    // Choose a structure that starts at or after a random offset; in half of the cases only its
    // header.
    let from = (16384 + random.below(bytes.count - 16384 - 48)) & ~7
    let place = bytes.withUnsafeBytes { memory -> Int? in
      guard let base = memory.baseAddress else { return nil }
      for offset in stride(from: from, to: memory.count - 48, by: 8)
      where base.u64(offset + 16) == UInt64(offset) {
        if nodes || base.u32(offset + 8) == 0x5246_574C { return offset }
      }
      return nil
    }
    guard let place else { return from..<min(bytes.count, from + 64) }
    if random.oneIn(2) { return place..<min(bytes.count, place + (random.oneIn(3) ? 144 : 56)) }
    let inside = min(place + 40 + random.below(400), bytes.count - 16)
    return inside..<min(bytes.count, inside + 64)
  }
}
