import LatewoodBytes

/// A set of byte strings, numbered in the order in which they are added.
///
/// The strings are in one array, and a hash table of open addressing has their numbers. The seed of
/// the hashes differs between processes, so that a text cannot be made to collide.
struct TermTable {
  private var bytes: [UInt8] = []
  /// The end of each string in `bytes`.
  private var ends: [Int] = []
  /// The hash of a string, and in the lower half its number plus 1; or 0.
  private var slots: [UInt64] = Array(repeating: 0, count: 64)

  private static let seed = UInt64(bitPattern: Int64(Hasher().finalize()))

  var count: Int { ends.count }

  /// The strings, one after the other.
  var byteCount: Int { bytes.count }

  subscript(number: Int) -> ArraySlice<UInt8> {
    bytes[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
  }

  /// Returns the number of a string, after adding it if it is not there.
  mutating func number(of string: UnsafeBufferPointer<UInt8>) -> Int {
    let hash = XXH64.hash(UnsafeRawBufferPointer(string), seed: TermTable.seed) >> 32
    var slot = Int(hash) & (slots.count - 1)
    while slots[slot] != 0 {
      if slots[slot] >> 32 == hash {
        let number = TermTable.number(slots[slot])
        if isEqual(number, string) { return number }
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    bytes.append(contentsOf: string)
    ends.append(bytes.count)
    slots[slot] = hash << 32 | UInt64(count)
    if count * 2 > slots.count { grow() }
    return count - 1
  }

  private static func number(_ slot: UInt64) -> Int { Int(slot & 0xFFFF_FFFF) - 1 }

  private func isEqual(_ number: Int, _ string: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = number == 0 ? 0 : ends[number - 1]
    guard ends[number] - start == string.count else { return false }
    return bytes.withUnsafeBufferPointer { (bytes) in
      // SAFETY: the string with this number, of the same length, is inside of the array.
      for index in 0..<string.count where bytes[start + index] != string[index] { return false }
      return true
    }
  }

  private mutating func grow() {
    let full = slots.filter { $0 != 0 }
    slots = Array(repeating: 0, count: slots.count * 2)
    for entry in full {
      var slot = Int(entry >> 32) & (slots.count - 1)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = entry
    }
  }

  mutating func removeAll() { self = TermTable() }

  /// Calls a closure with a string in place.
  func with<R>(_ number: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R {
    let range = (number == 0 ? 0 : ends[number - 1])..<ends[number]
    // SAFETY: the range is inside of the array, which is not changed during the closure.
    return try bytes.withUnsafeBufferPointer { try body(UnsafeBufferPointer(rebasing: $0[range])) }
  }
}
