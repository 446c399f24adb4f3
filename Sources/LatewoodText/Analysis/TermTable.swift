import LatewoodBytes

/// A set of byte strings, numbered in the order in which they are added.
///
/// The strings are in one array, and a hash table of open addressing has their numbers. The seed of
/// the hashes differs between processes, so that a text cannot be made to collide.
struct TermTable {
  private var bytes: [UInt8] = []
  /// The end of each string in `bytes`.
  private var ends: [Int] = []
  private var hashes: [UInt32] = []
  /// The number plus 1 of a string, or 0.
  private var slots: [UInt32] = Array(repeating: 0, count: 64)

  private static let seed = UInt64(bitPattern: Int64(Hasher().finalize()))

  var count: Int { ends.count }

  /// The strings, one after the other.
  var byteCount: Int { bytes.count }

  subscript(number: Int) -> ArraySlice<UInt8> {
    bytes[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
  }

  /// Returns the number of a string, after adding it if it is not there.
  mutating func number(of string: UnsafeBufferPointer<UInt8>) -> Int {
    let hash = UInt32(truncatingIfNeeded: XXH64.hash(UnsafeRawBufferPointer(string), seed: TermTable.seed))
    var slot = Int(hash) & (slots.count - 1)
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if hashes[number] == hash, isEqual(number, string) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    bytes.append(contentsOf: string)
    ends.append(bytes.count)
    hashes.append(hash)
    slots[slot] = UInt32(count)
    if count * 2 > slots.count { grow() }
    return count - 1
  }

  private func isEqual(_ number: Int, _ string: UnsafeBufferPointer<UInt8>) -> Bool {
    let start = number == 0 ? 0 : ends[number - 1]
    guard ends[number] - start == string.count else { return false }
    for index in 0..<string.count where bytes[start + index] != string[index] { return false }
    return true
  }

  private mutating func grow() {
    slots = Array(repeating: 0, count: slots.count * 2)
    for number in 0..<count {
      var slot = Int(hashes[number]) & (slots.count - 1)
      while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = UInt32(number + 1)
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
