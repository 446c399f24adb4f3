import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Successive cells of a leaf up to its end, found without its slots.
///
/// ```
/// | header, heads, slots, prefix | cell | ce#########ll | cell | cell | cell |
///   destroyed ###########################                 ^ found from the end:
///                                           each cell ends where the next one begins
/// ```
///
/// Cells are stored consecutively in the order of their keys. Therefore a cell that ends exactly
/// where a cell of the chain begins, and has a lesser key, is taken as the previous cell, although
/// bytes of a value can match by chance.
struct CellChain {
  struct Cell {
    var start: Int
    /// The key without the prefix of the leaf.
    var suffix: Range<Int>
    var value: Range<Int>
    /// The length of the value, which is in the cell or in an extent.
    var length: Int
    var isExtent: Bool
    /// The number of cells from this one to the end.
    var depth = 1
    var end: Int { value.upperBound }
  }

  let bytes: UnsafeRawBufferPointer
  /// The cells, from the last one in the leaf to the first.
  private(set) var cells: [Cell] = []

  /// - Parameter start: the offset before which no cell can begin.
  init(in bytes: UnsafeRawBufferPointer, from start: Int) {
    self.bytes = bytes
    var known = [Int?](repeating: nil, count: bytes.count)
    for offset in (min(start, bytes.count)..<bytes.count).reversed() {
      guard var cell = Self.cell(at: offset, bytes) else { continue }
      if cell.end < bytes.count {
        guard let index = known[cell.end], precedes(cell, cells[index]) else { continue }
        cell.depth = cells[index].depth + 1
      }
      known[offset] = cells.count
      cells.append(cell)
    }
  }

  /// Returns the cells from a given one to the end.
  func run(from cell: Cell) -> [Cell] {
    var run = [cell]
    for next in cells.reversed() where next.start == run[run.count - 1].end { run.append(next) }
    return run
  }

  /// Returns the longest run in which `accepts` accepts each cell. It is called for the last cell
  /// first, with `isLast` set.
  func longest(_ accepts: (_ cell: Cell, _ isLast: Bool) -> Bool) -> [Cell] {
    var taken: [Int: Int] = [:]
    var best: Cell?
    var depth = 0
    for cell in cells {
      let isLast = cell.end == bytes.count
      guard isLast || taken[cell.end] != nil, accepts(cell, isLast) else { continue }
      taken[cell.start] = cell.depth
      if cell.depth > depth { (best, depth) = (cell, cell.depth) }
    }
    return best.map(run) ?? []
  }

  func entry(_ prefix: [UInt8], _ cell: Cell) -> SalvagedEntry {
    let key = prefix + bytes[cell.suffix]
    guard cell.isExtent, let base = bytes.baseAddress else {
      return SalvagedEntry(key: key, value: .inline(Array(bytes[cell.value])))
    }
    // SAFETY: the 12 bytes of `value` were found to lie within the bytes.
    let extent = base + cell.value.lowerBound
    return SalvagedEntry(
      key: key,
      value: .extent(
        ExtentReference(offset: extent.u64(0), length: UInt64(cell.length), checksum: extent.u32(8))))
  }

  /// Reads the bytes at `start` as a cell, regardless of the bytes after it; returns nil if it does
  /// not lie within the bytes.
  static func cell(at start: Int, _ bytes: UnsafeRawBufferPointer) -> Cell? {
    guard let base = bytes.baseAddress, start >= 0, start < bytes.count else { return nil }
    // SAFETY: the numbers are read up to the end of the bytes, and the rest only after checking
    // that it lies within them.
    let end = base + bytes.count
    guard let key = Varint.read(base + start, end: end),
      let tagged = Varint.read(base + (start + key.length), end: end)
    else { return nil }
    let suffix = start + key.length + tagged.length
    guard key.value <= UInt64(bytes.count - suffix) else { return nil }
    let value = suffix + Int(key.value)
    let isExtent = tagged.value & 1 == 1
    let inside = isExtent ? UInt64(NodeLayout.extentLength) : tagged.value >> 1
    guard tagged.value >> 1 <= NodeLayout.maximumValueLength, inside <= UInt64(bytes.count - value) else {
      return nil
    }
    return Cell(
      start: start, suffix: suffix..<value, value: value..<value + Int(inside),
      length: Int(tagged.value >> 1),
      isExtent: isExtent)
  }

  private func precedes(_ cell: Cell, _ next: Cell) -> Bool {
    bytes[cell.suffix].lexicographicallyPrecedes(bytes[next.suffix])
  }
}
