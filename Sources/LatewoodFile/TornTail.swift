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
  /// Whether a finished walk ended before bytes that had been durable, which is damage. A crash, a
  /// power cut or a full disk leaves a torn tail, which was never acknowledged.
  ///
  /// - Parameter floor: the offset up to which the root slots claim durability.
  func endsInDamage(floor: UInt64) throws(StorageError) -> Bool {
    let durable = max(floor, durableThrough)
    if position.offset < durable { return true }
    return try isContradictedBeyond()
  }
}

extension DatabaseFile {
  /// Returns the torn tail after a log that a verification has walked; nil if there is nothing,
  /// only zeros, or bytes that a live writer may be writing.
  ///
  /// - Parameters:
  ///   - reader: a walk over all of the log known to this process, and no further.
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
    // A writer may have begun an incomplete frame meanwhile.
    if try volume.isLockedForWriting(path) { return nil }
    let start = reader.position.offset
    return TornTail(range: start..<reader.size, isDamage: try reader.endsInDamage(floor: floor))
  }
}
