import LatewoodBytes

/// Walks a range of a file and leaves out large holes, which need not be read to know that they are
/// zeros.
///
/// ```
/// | data | small hole | data |      large hole      | data |
///   <------- one range -------->                     <---->
/// ```
///
/// A file system that does not tell where its holes are, or fails to, has none here: everything is
/// then read. Small holes are read too, so that an ordinary tail of a log does not depend on it. On
/// Apple systems everything is read, because APFS may report a hole where data has been written
/// that has not reached the disk.
package struct StoredRanges {
  /// The least length of a hole that is left out.
  package static let leastHole: UInt64 = 16 << 20

  private let device: (any Device)?
  private let end: UInt64
  private var at: UInt64

  /// - Parameter device: nil for bytes in memory, without holes.
  package init(of device: (any Device)?, in range: Range<UInt64>) {
    #if canImport(Darwin)
      self.device = nil
    #else
      self.device = device
    #endif
    at = range.lowerBound
    end = range.upperBound
  }

  /// Returns the next range outside of large holes; nil at the end.
  package mutating func next() -> Range<UInt64>? {
    guard at < end else { return nil }
    let start = at
    var from = at
    while from < end {
      guard let hole = hole(from: from), hole.lowerBound < end else { break }
      from = hole.upperBound
      let length = min(hole.upperBound, end) - max(hole.lowerBound, start)
      guard length >= StoredRanges.leastHole else { continue }
      at = min(hole.upperBound, end)
      if hole.lowerBound > start { return start..<hole.lowerBound }
      return next()
    }
    at = end
    return start..<end
  }

  private func hole(from offset: UInt64) -> Range<UInt64>? {
    do throws(StorageError) {
      guard let hole = try device?.nextHole(from: offset), hole.upperBound > offset else { return nil }
      return max(hole.lowerBound, offset)..<hole.upperBound
    } catch {
      return nil
    }
  }
}
