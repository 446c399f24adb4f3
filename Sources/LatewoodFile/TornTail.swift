import LatewoodBytes
import LatewoodDevice

/// The bytes after the last complete frame of a log, if they are not preallocated zeros.
package struct TornTail: Sendable, Equatable {
  /// The range in the file.
  package var range: Range<UInt64>
  /// Whether the file claims that these bytes had been durable. If not, they are the remains of a
  /// write that was never acknowledged because of a crash, a power cut or a full disk.
  package var isDamage: Bool
}

extension LogReader {
  /// Returns whether a finished walk ended before bytes that had been durable, which is damage. A
  /// crash, a power cut or a full disk leaves a torn tail, which was never acknowledged.
  ///
  /// - Parameter floor: the offset up to which the root slots claim durability.
  func endsInDamage(floor: UInt64) throws(StorageError) -> Bool {
    let durable = max(floor, durableThrough)
    if position.offset < durable { return true }
    return try isContradictedBeyond()
  }

  /// Whether the rest of the file is empty or all zeros, as preallocated space is.
  func isFollowedByZeros() throws(StorageError) -> Bool {
    var at = position.offset
    var readable = readable
    // SAFETY: all bytes below `size` are in the file.
    while at < size {
      try readable.need(at, min(8, size - at))
      if at % 8 == 0, size - at >= 8 {
        if (view.base + Int(at)).u64(0) != 0 { return false }
        at += 8
      } else {
        if (view.base + Int(at)).u8(0) != 0 { return false }
        at += 1
      }
    }
    return true
  }

  /// Returns whether a valid frame beyond the end of the walk claims that more was durable than the
  /// walk found.
  ///
  /// Checksums are computed only for headers with such a claim. A torn tail has none, so the search
  /// is cheap. A file crafted with so many of them that the search becomes expensive counts as
  /// damaged too.
  private func isContradictedBeyond() throws(StorageError) -> Bool {
    if hasEnded { return false }
    var budget = (size &- min(size, position.offset)).multipliedReportingOverflow(by: 16).partialValue
    var at = position.offset
    var readable = readable
    while let header = try nextClaim(from: &at, &readable) {
      let cost = header.payloadLength
      guard header.kind == .nodes || cost <= budget else { return true }
      if try LogReader.frame(at: header.ownOffset, view: view, size: size) != nil { return true }
      if header.kind != .nodes { budget -= cost }
    }
    return false
  }

  /// The next header at or after `at` that claims durability beyond the end of the walk.
  private func nextClaim(
    from at: inout UInt64, _ readable: inout ReadableWindow
  ) throws(StorageError) -> FrameHeader? {
    let headerLength = UInt64(FrameHeader.length)
    while size >= headerLength, at <= size - headerLength {
      let offset = at
      at += FileLayout.frameAlignment
      do throws(StorageError) {
        try readable.need(offset, headerLength)
      } catch {
        // There is no memory for the zeros of a hole, which can be skipped.
        guard error.kind == .outOfSpace, let end = try view.endOfHole(in: offset..<offset + headerLength)
        else { throw error }
        at = max(at, end & ~(FileLayout.frameAlignment - 1))
        continue
      }
      // SAFETY: 56 bytes from `offset` on are below `size`.
      guard (view.base + Int(offset)).u32(FrameHeader.Offset.magic) == FrameHeader.magic,
        let header = LogReader.header(at: offset, view: view, size: size),
        header.durableThrough > position.offset
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
  func tornTail(behind reader: LogReader, floor: UInt64) throws(StorageError) -> TornTail? {
    if reader.hasEnded { return nil }
    if isReadOnly { return try tailOfReadOnlyFile(behind: reader, floor: floor) }
    // Recovery found nothing durable in the gap. Bytes after a log without a gap are being written
    // now.
    let gap = progress.gap
    guard let gap, reader.position.offset == gap.lowerBound else { return nil }
    let end = min(gap.upperBound, reader.size)
    let rest = LogReader(view: reader.view, size: end, from: reader.position)
    if try rest.isFollowedByZeros() { return nil }
    return TornTail(range: gap.lowerBound..<end, isDamage: false)
  }

  /// Returns the torn tail of a file written by another process.
  private func tailOfReadOnlyFile(behind reader: LogReader, floor: UInt64) throws(StorageError) -> TornTail? {
    if try volume.isLockedForWriting(path) { return nil }
    var reader = reader
    try reader.finish()
    if reader.hasEnded { return nil }
    if try reader.isFollowedByZeros() { return nil }
    // A writer may have begun an incomplete frame in the meantime.
    if try volume.isLockedForWriting(path) { return nil }
    let start = reader.position.offset
    return TornTail(range: start..<reader.size, isDamage: try reader.endsInDamage(floor: floor))
  }
}
