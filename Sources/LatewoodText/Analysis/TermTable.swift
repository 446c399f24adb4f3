import LatewoodBytes

/// A set of byte strings, numbered in the order in which they are added.
///
/// The strings are in one array, and a hash table of open addressing has their numbers. A slot also
/// has the first bytes of its string, so that a short string is found with a single access to
/// memory that is not in a cache. The seed of the hashes differs between processes, so that a text
/// cannot be made to collide.
struct TermTable {
  private var bytes: [UInt8] = []
  /// The end of each string in `bytes`.
  private var ends: [Int] = []
  /// Empty until the first string is added: many queries need no table.
  private var slots: [Slot] = []

  private static let firstCount = 64

  private struct Slot {
    /// A part of the hash of a string, and in the lowest byte its length or 255.
    var tag: UInt32 = 0
    /// The number of the string plus 1; 0 in a free slot.
    var number: UInt32 = 0
    /// The first eight bytes, or the string followed by zeros.
    var head: UInt64 = 0
  }

  private static let seed = UInt64(bitPattern: Int64(Hasher().finalize()))

  var count: Int { ends.count }

  /// The strings, one after the other.
  var byteCount: Int { bytes.count }

  subscript(number: Int) -> ArraySlice<UInt8> {
    bytes[(number == 0 ? 0 : ends[number - 1])..<ends[number]]
  }

  /// Returns the number of a string, after adding it if it is not there.
  mutating func number(of string: UnsafeBufferPointer<UInt8>) -> Int {
    if slots.isEmpty { slots = Array(repeating: Slot(), count: TermTable.firstCount) }
    let head = TermTable.head(of: string)
    let tag = TermTable.tag(of: string, head)
    var slot = TermTable.place(of: tag, in: slots.count)
    while slots[slot].number != 0 {
      if slots[slot].tag == tag, slots[slot].head == head {
        let number = Int(slots[slot].number) - 1
        if string.count <= 8 || isEqual(number, string) { return number }
      }
      slot = (slot + 1) & (slots.count - 1)
    }
    bytes.append(contentsOf: string)
    ends.append(bytes.count)
    slots[slot] = Slot(tag: tag, number: UInt32(count), head: head)
    if count * 4 > slots.count * 3 { grow() }
    return count - 1
  }

  @inline(__always) private static func head(of string: UnsafeBufferPointer<UInt8>) -> UInt64 {
    var head: UInt64 = 0
    // SAFETY: eight bytes are read only from a string that has as many.
    if string.count >= 8, let start = UnsafeRawPointer(string.baseAddress) {
      return start.loadUnaligned(as: UInt64.self)
    }
    for (index, byte) in string.enumerated() { head |= UInt64(byte) << UInt64(8 * index) }
    return head
  }

  @inline(__always) private static func tag(
    of string: UnsafeBufferPointer<UInt8>, _ head: UInt64
  ) -> UInt32 {
    let length = UInt64(min(255, string.count))
    var hash: UInt64
    if string.count <= 8 {
      let product = (head ^ seed).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15 ^ length << 1)
      hash = product.high ^ product.low
    } else {
      hash = XXH64.hash(UnsafeRawBufferPointer(string), seed: seed)
    }
    hash ^= hash >> 32
    return UInt32(truncatingIfNeeded: hash << 8 | length)
  }

  /// The slot with which the search for a string begins.
  @inline(__always) private static func place(of tag: UInt32, in count: Int) -> Int {
    // The highest bits of a product with the golden ratio.
    Int((UInt64(tag) &* 0x9E37_79B9_7F4A_7C15) >> 32) & (count - 1)
  }

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
    let full = slots.filter { $0.number != 0 }
    slots = Array(repeating: Slot(), count: slots.count * 2)
    for entry in full {
      var slot = TermTable.place(of: entry.tag, in: slots.count)
      while slots[slot].number != 0 { slot = (slot + 1) & (slots.count - 1) }
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
