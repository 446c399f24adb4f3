import LatewoodBytes

/// Makes a file readable piece by piece for a sequential pass, so that one system call serves many
/// frames.
struct ReadableWindow {
  private static let length: UInt64 = 256 << 10

  private let view: FileView
  private var range: Range<UInt64> = 0..<0

  init(_ view: FileView) { self.view = view }

  /// Makes `length` bytes of the file at `offset` safe to read through the mapping. Throws
  /// `inputOutput` if the disk cannot read them.
  mutating func need(_ offset: UInt64, _ length: UInt64) throws(StorageError) {
    let end = offset &+ length
    if offset >= range.lowerBound, end <= range.upperBound { return }
    let start = range.contains(offset) ? range.upperBound : offset
    // After a jump, for example over nodes, the following bytes are probably not needed.
    let isNext = offset <= range.upperBound && offset >= range.lowerBound
    let wanted = isNext ? start &+ ReadableWindow.length : end
    let ahead = min(max(end, wanted), max(end, view.limit))
    do throws(StorageError) {
      try view.makeReadable(start, Int(ahead - start))
      range = start..<ahead
    } catch {
      // The failure may be caused by bytes that were read ahead.
      guard ahead > end else { throw error }
      try view.makeReadable(start, Int(end - start))
      range = start..<end
    }
  }
}
