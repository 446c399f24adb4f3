import LatewoodBytes
import LatewoodDevice

/// Finds the blocks that read as zeros. Holes that the file system reports are not read.
struct HoleFinder {
  /// File systems punch at least 4 KiB; sectors are the smallest unit that a power failure leaves
  /// intact.
  private static let blockLength: UInt64 = 512
  private let reader: FileReader

  init(_ reader: FileReader) { self.reader = reader }

  /// Returns the complete blocks in these ranges that are zero, with neighbours merged. The ranges
  /// must ascend.
  func holes(in ranges: [Range<UInt64>]) throws(StorageError) -> [Range<UInt64>] {
    var known: Range<UInt64>?? = .none
    var result: [Range<UInt64>] = []
    for range in ranges {
      let length = Self.blockLength
      var at = (range.lowerBound + length - 1) / length * length
      let end = range.upperBound / length * length
      while at < end {
        if known == nil || (known.flatMap { $0 }.map { $0.upperBound <= at } ?? false) {
          known = .some(try reader.device.nextHole(from: at))
        }
        let hole = known.flatMap { $0 }
        if let hole, hole.lowerBound <= at {
          let stop = min(end, hole.upperBound / length * length)
          if stop > at {
            add(at..<stop, to: &result)
            at = stop
            continue
          }
        }
        // The range up to the next hole, or to the end of the block in which a hole ends.
        let next = hole.map { $0.lowerBound > at ? $0.lowerBound : at + length } ?? end
        let stop = min(end, max(at + length, next / length * length))
        try read(at..<stop, &result)
        at = stop
      }
    }
    return result
  }

  private func read(_ range: Range<UInt64>, _ result: inout [Range<UInt64>]) throws(StorageError) {
    let length = Self.blockLength
    var found: [Range<UInt64>] = []
    try reader.forEachPiece(of: range) { offset, piece in
      for start in stride(from: 0, to: piece.count, by: Int(length)) {
        let block = UnsafeRawBufferPointer(rebasing: piece[start..<min(piece.count, start + Int(length))])
        if block.isZero { found.append(offset + UInt64(start)..<offset + UInt64(start) + length) }
      }
      return true
    }
    for hole in found { add(hole, to: &result) }
  }

  private func add(_ hole: Range<UInt64>, to result: inout [Range<UInt64>]) {
    if let last = result.last, last.upperBound == hole.lowerBound {
      result[result.count - 1] = last.lowerBound..<hole.upperBound
    } else {
      result.append(hole)
    }
  }
}
