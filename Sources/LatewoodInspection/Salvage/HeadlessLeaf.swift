import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// The last cells of a leaf whose header, slots or prefix were destroyed.
///
/// ```
/// | header, heads, slots, prefix | cell | ce#########ll | cell | cell | cell |
///   destroyed ###########################                 ^ found from the end: each cell ends where the next one begins
/// ```
///
/// Cells are laid one behind the other, so a chain of them that ends exactly at the end of the leaf, with keys that ascend between the
/// separators around it, is what was written there. The prefix follows from these separators: the first key starts with the one before the leaf;
/// the last key has all but the last byte of the one behind it. Where that does not say where the prefix ends, nothing is taken.
struct HeadlessLeaf {
  private struct Cell {
    var suffix: Range<Int>
    var value: Range<Int>
    var length: Int
    var isExtent: Bool
    var end: Int { value.upperBound }
  }

  private let bytes: UnsafeRawBufferPointer
  private let low: [UInt8]
  private let high: [UInt8]
  private let start: Int
  private let entries: Int

  /// The entries whose cells start at `start` or later; none if they cannot be told.
  static func entries(
    in bytes: UnsafeRawBufferPointer, of lost: SalvageTree.LostLeaf, from start: Int
  ) -> [SalvagedEntry] {
    guard let high = lost.range.high, lost.range.low.count > 4, bytes.count == Int(lost.reference.length),
      start < bytes.count, let entries = Int(exactly: lost.entries)
    else { return [] }
    return HeadlessLeaf(
      bytes: bytes, low: lost.range.low, high: high, start: max(start, NodeLayout.arrays), entries: entries
    ).found()
  }

  private func found() -> [SalvagedEntry] {
    let shared = zip(low, high).prefix { $0 == $1 }.count
    // Behind what both separators share, the last key goes on like the upper one and the first like the lower one: there the prefix ends.
    // If the upper one has only one byte more, the last key may go on like the first, and nobody knows how far.
    guard shared < low.count, shared < high.count - 1 else { return [] }
    let chain = longestChain(of: chained(), prefix: Array(low.prefix(shared)))
    return chain.count <= entries ? chain : []
  }

  /// The cells of the longest chain, with a prefix that fits them; none if it does not.
  private func longestChain(of parsed: [(place: Int, cell: Cell)], prefix: [UInt8]) -> [SalvagedEntry] {
    var cells = [Cell?](repeating: nil, count: bytes.count)
    var counts = [Int](repeating: 0, count: bytes.count + 1)
    var best = bytes.count
    for (place, cell) in parsed {
      guard cell.end < bytes.count ? cells[cell.end] != nil : isLast(prefix, cell) else { continue }
      guard isInside(prefix, cell) else { continue }
      cells[place] = cell
      counts[place] = counts[cell.end] + 1
      if counts[place] > counts[best] { best = place }
    }
    var chain: [SalvagedEntry] = []
    while best < bytes.count, let cell = cells[best] {
      chain.append(entry(prefix, cell))
      best = cell.end
    }
    return chain
  }

  /// All places from the end on from where cells follow each other to the end, with keys that ascend.
  private func chained() -> [(place: Int, cell: Cell)] {
    var cells = [Cell?](repeating: nil, count: bytes.count)
    var found: [(place: Int, cell: Cell)] = []
    for place in (start..<bytes.count).reversed() {
      guard let cell = cell(at: place) else { continue }
      if cell.end < bytes.count {
        guard let next = cells[cell.end], precedes(cell, next) else { continue }
      }
      cells[place] = cell
      found.append((place, cell))
    }
    return found
  }

  private func cell(at place: Int) -> Cell? {
    guard let base = bytes.baseAddress else { return nil }
    // SAFETY: the numbers are read up to the end of the bytes, and the rest only after it was found to lie there.
    let end = base + bytes.count
    guard let key = Varint.read(base + place, end: end),
      let tagged = Varint.read(base + (place + key.length), end: end)
    else { return nil }
    let suffix = place + key.length + tagged.length
    guard key.value <= UInt64(bytes.count - suffix) else { return nil }
    let value = suffix + Int(key.value)
    let isExtent = tagged.value & 1 == 1
    let inside = isExtent ? UInt64(NodeLayout.extentLength) : tagged.value >> 1
    guard tagged.value >> 1 <= NodeLayout.maximumValueLength, inside <= UInt64(bytes.count - value) else {
      return nil
    }
    return Cell(
      suffix: suffix..<value, value: value..<value + Int(inside), length: Int(tagged.value >> 1),
      isExtent: isExtent)
  }

  private func isInside(_ prefix: [UInt8], _ cell: Cell) -> Bool {
    let key = prefix + bytes[cell.suffix]
    return key.count > 4 && key.count <= NodeLayout.maximumKeyLength && !key.lexicographicallyPrecedes(low)
      && key.lexicographicallyPrecedes(high)
  }

  private func precedes(_ cell: Cell, _ next: Cell) -> Bool {
    bytes[cell.suffix].lexicographicallyPrecedes(bytes[next.suffix])
  }

  private func isLast(_ prefix: [UInt8], _ cell: Cell) -> Bool {
    let key = prefix + bytes[cell.suffix]
    // The prefix is the longest, so that the first key and the last differ in the byte behind it.
    if prefix.count < low.count, key.count > prefix.count, key[prefix.count] == low[prefix.count] {
      return false
    }
    return zip(key, high).prefix { $0 == $1 }.count == high.count - 1
  }

  private func entry(_ prefix: [UInt8], _ cell: Cell) -> SalvagedEntry {
    let key = prefix + bytes[cell.suffix]
    guard cell.isExtent, let base = bytes.baseAddress else {
      return SalvagedEntry(key: key, value: .inline(Array(bytes[cell.value])))
    }
    let place = base + cell.value.lowerBound
    return SalvagedEntry(
      key: key, value: .extent(offset: place.u64(0), length: cell.length, checksum: place.u32(8)))
  }
}
