import LatewoodBytes
import LatewoodDevice

/// The bytes after the last complete frame of a log, if they are not preallocated zeros.
package struct LogRemainder: Sendable, Equatable {
  /// The maximum number of bytes after the log that are searched, not counting large holes: more
  /// than a frame with the longest possible value, so that the search reaches the frame after a
  /// damaged one. The bytes after that count as the remains of writes that were never durable.
  package static let searchLimit: UInt64 = 4 << 30

  fileprivate static let pieceLength = 128 << 10
  fileprivate static let shortPieceLength = 4096

  /// The range in the file.
  package var range: Range<UInt64>
  /// Whether the file claims that these bytes had been durable. If not, they are the remains of a
  /// write that was never acknowledged because of a crash, a power cut or a full disk.
  package var isDamage: Bool
}

/// The rule that tells a torn tail from damage, for the engine and the inspector.
extension LogReader {
  /// Returns whether a finished walk ended before bytes that had been durable, which is damage. A
  /// crash, a power cut or a full disk leaves a torn tail, which was never acknowledged.
  ///
  /// - Parameters:
  ///   - floor: the offset up to which the root slots claim durability.
  ///   - limit: the maximum number of bytes to search.
  package func endsInDamage(
    floor: UInt64, limit: UInt64 = LogRemainder.searchLimit
  ) throws(StorageError) -> Bool {
    let durable = max(floor, durableThrough)
    if position.offset < durable { return true }
    return try isContradictedBeyond(limit: limit)
  }

  /// Returns whether the rest of the file is empty or all zeros, as preallocated space is. Returns
  /// false if there are more zeros than the limit: the log then continues after them.
  package func isFollowedByZeros(limit: UInt64 = LogRemainder.searchLimit) throws(StorageError) -> Bool {
    var isZero = true
    try eachPieceBeyond(overlap: 0, limit: limit) { (piece, _) throws(StorageError) in
      isZero = piece.firstNonZero == nil
      return isZero
    }
    return isZero && unsearched(limit: limit) == nil
  }

  /// Returns the end of the file from the first byte that a search leaves out, because there are
  /// more bytes after the walk than it may search; nil if it searches all.
  package func unsearched(limit: UInt64) -> Range<UInt64>? {
    var rest = limit
    var ranges = bytes.storedRanges(in: remainder)
    while let range = ranges.next() {
      let count = range.upperBound - range.lowerBound
      if count > rest { return range.lowerBound + rest..<size }
      rest -= count
    }
    return nil
  }

  /// The bytes after the walk.
  private var remainder: Range<UInt64> { position.offset..<max(position.offset, size) }

  /// Passes the bytes after the walk to `body`, piece by piece, until it returns false. Leaves out
  /// large holes, and what exceeds the limit.
  ///
  /// - Parameters:
  ///   - overlap: the number of bytes at the end of each piece that the next one begins with. The
  ///     last piece may reach so far beyond the limit.
  ///   - body: gets the bytes, and their offset.
  private func eachPieceBeyond(
    overlap: UInt64, limit: UInt64,
    _ body: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var rest = limit
    if remainder.isEmpty { return }
    try withScratch(LogRemainder.pieceLength) { block throws(StorageError) in
      var ranges = bytes.storedRanges(in: remainder)
      while rest > 0, let range = ranges.next() {
        let count = min(rest, range.upperBound - range.lowerBound)
        rest -= count
        let end = min(range.upperBound, range.lowerBound + count + overlap)
        var at = range.lowerBound
        while at < end {
          let wanted = Int(min(end - at, UInt64(block.count)))
          let piece = try readSome(of: block.part(0, wanted), at: at)
          guard try body(piece, at) else { return }
          at += UInt64(piece.count)
          if at < end { at -= overlap }
        }
      }
    }
  }

  /// Fills a block with bytes of the file, or only its beginning if the disk cannot read them all.
  private func readSome(
    of block: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    do throws(StorageError) {
      try bytes.read(into: block, at: offset)
      return UnsafeRawBufferPointer(block)
    } catch {
      guard block.count > LogRemainder.shortPieceLength else { throw error }
      let start = block.part(0, LogRemainder.shortPieceLength)
      try bytes.read(into: start, at: offset)
      return UnsafeRawBufferPointer(start)
    }
  }

  /// Returns whether a valid frame beyond the end of the walk claims that more was durable than the
  /// walk found.
  ///
  /// Checksums are computed only for headers with such a claim. A torn tail has none, so the search
  /// is cheap. A file crafted with so many of them that the search becomes expensive also counts as
  /// damaged.
  private func isContradictedBeyond(limit: UInt64) throws(StorageError) -> Bool {
    if hasEnded { return false }
    let bytes = bytes.unpinned
    var budget = HashBudget(searching: remainder.upperBound - remainder.lowerBound)
    var isContradicted = false
    let overlap = UInt64(FrameHeader.Offset.magic + 4) - 1
    try eachPieceBeyond(overlap: overlap, limit: limit) { (piece, offset) throws(StorageError) in
      var at = FrameHeader.aligned(offset) ?? .max
      while let header = try nextClaim(in: piece, at: offset, from: &at, bytes) {
        isContradicted = !budget.spend(header.kind == .nodes ? 0 : header.payloadLength)
        if !isContradicted { isContradicted = try bytes.isSound(header) }
        if isContradicted { return false }
      }
      return true
    }
    return isContradicted
  }

  /// Returns the next header that begins in a piece of the file and claims durability beyond the
  /// end of the walk.
  ///
  /// - Parameter at: the offset to begin at, a multiple of the alignment of frames; afterwards the
  ///   offset after the header's start.
  private func nextClaim(
    in piece: UnsafeRawBufferPointer, at offset: UInt64, from at: inout UInt64, _ bytes: Bytes
  ) throws(StorageError) -> FrameHeader? {
    let (end, magicEnd) = (offset + UInt64(piece.count), UInt64(FrameHeader.Offset.magic + 4))
    guard let base = piece.baseAddress else { return nil }
    while at < end, end - at >= magicEnd {
      let start = at
      at += FileLayout.frameAlignment
      // SAFETY: the magic number lies within the piece, by the check.
      guard (base + Int(start - offset)).u32(FrameHeader.Offset.magic) == FrameHeader.magic,
        let header = try bytes.frameHeader(at: start), header.durableThrough > position.offset
      else { continue }
      return header
    }
    return nil
  }
}

extension DatabaseFile {
  /// Returns the torn tail after a log that a verification has walked; nil if there is nothing,
  /// only zeros, or bytes that a live writer may be writing.
  ///
  /// - Parameters:
  ///   - reader: a walk over all of the log known to this process, but no further.
  ///   - floor: the offset up to which the root slots claim durability.
  /// - Throws: `inputOutput` if the disk cannot read those bytes.
  func tornTail(behind reader: LogReader<ViewedBytes>, floor: UInt64) throws(StorageError) -> LogRemainder? {
    if reader.hasEnded { return nil }
    if isReadOnly { return try tailOfReadOnlyFile(behind: reader, floor: floor) }
    // Recovery found nothing durable in the gap. Bytes after a log without a gap are being written
    // now.
    let gap = progress.gap
    guard let gap, reader.position.offset == gap.lowerBound else { return nil }
    let end = min(gap.upperBound, reader.size)
    let rest = LogReader(view: reader.view, below: end, from: reader.position)
    if try rest.isFollowedByZeros() { return nil }
    return LogRemainder(range: gap.lowerBound..<end, isDamage: false)
  }

  /// Returns the torn tail of a file written by another process.
  private func tailOfReadOnlyFile(behind reader: LogReader<ViewedBytes>, floor: UInt64) throws(StorageError)
    -> LogRemainder?
  {
    if try volume.isLockedForWriting(path) { return nil }
    var reader = reader
    try reader.finish()
    if reader.hasEnded { return nil }
    if try reader.isFollowedByZeros() { return nil }
    // A writer may have begun an incomplete frame in the meantime.
    if try volume.isLockedForWriting(path) { return nil }
    let start = reader.position.offset
    return LogRemainder(range: start..<reader.size, isDamage: try reader.endsInDamage(floor: floor))
  }
}
