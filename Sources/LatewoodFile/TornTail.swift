import LatewoodBytes
import LatewoodDevice

/// The bytes behind the last complete frame of a log, if they are not preallocated zeros.
package struct TornTail: Sendable, Equatable {
  /// The range in the file.
  package var range: Range<UInt64>
  /// Whether the file says that these bytes had been durable. If not, they are the remains of a
  /// write that was never acknowledged because of a crash, a power cut or a full disk.
  package var isDamage: Bool
}

extension LogReader {
  /// Tells damage from a torn tail, where a walk has come to its end: whether the log ends before
  /// bytes that had been durable. A crash, a power cut or a full disk leaves only what was never
  /// acknowledged.
  ///
  /// - Parameter floor: the offset up to which the root slots claim durability.
  func endsInDamage(floor: UInt64) throws(Fault) -> Bool {
    let durable = max(floor, durableThrough)
    if position.offset < durable { return true }
    return try isContradictedBeyond()
  }
}

extension DatabaseFile {
  /// The torn tail behind a log that a verification has walked; nil if there is nothing, only
  /// zeros, or bytes that a live writer may be writing.
  ///
  /// - Parameters:
  ///   - reader: a walk over all of the log that this process knows of, and no further.
  ///   - floor: the offset up to which the root slots claim durability.
  /// - Throws: `inputOutput` if the disk cannot read those bytes.
  func tornTail(behind reader: LogReader, floor: UInt64) throws(Fault) -> TornTail? {
    if reader.hasEnded { return nil }
    if isReadOnly { return try strangersTail(behind: reader, floor: floor) }
    // Recovery has found nothing durable in the gap. Bytes behind a log without a gap are being
    // written just now.
    let gap = progress.gap
    guard let gap, reader.position.offset == gap.lowerBound else { return nil }
    let end = min(gap.upperBound, reader.size)
    let rest = LogReader(view: reader.view, size: end, from: reader.position)
    if try rest.isFollowedByZeros() { return nil }
    return TornTail(range: gap.lowerBound..<end, isDamage: false)
  }

  /// The torn tail of a file that another process writes or has written.
  private func strangersTail(behind reader: LogReader, floor: UInt64) throws(Fault) -> TornTail? {
    if try volume.isLockedForWriting(path) { return nil }
    var reader = reader
    try reader.finish()
    if reader.hasEnded { return nil }
    if try reader.isFollowedByZeros() { return nil }
    // An incomplete frame may be one that a writer has begun meanwhile.
    if try volume.isLockedForWriting(path) { return nil }
    let start = reader.position.offset
    return TornTail(range: start..<reader.size, isDamage: try reader.endsInDamage(floor: floor))
  }
}
