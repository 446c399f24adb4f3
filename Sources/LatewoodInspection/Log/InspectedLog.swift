import LatewoodBytes
import LatewoodFile

/// The part of the log that no checkpoint contains, with its checksums verified, and the bytes
/// after it.
package struct InspectedLog {
  /// The kinds of bytes that can follow the last frame of the log.
  package enum Tail: String, Sendable, CaseIterable {
    /// The end of the file.
    case none
    /// Zeros: preallocated space.
    case reserved
    /// The remains of a write that was not acknowledged, or a write in progress.
    case skipped
    /// The end of a backup's log, regardless of the bytes that follow.
    case ended
    /// Damage to data that was durable, at the end of the walk.
    case damaged
  }

  package let start: ReplayPosition
  package private(set) var end: ReplayPosition
  package private(set) var tail: Tail = .none
  package private(set) var frames: UInt64 = 0
  /// The number of commit frames and of complete transactions.
  package private(set) var commits: UInt64 = 0
  package private(set) var transactions: UInt64 = 0
  /// The length of all commit frames, with their headers.
  package private(set) var commitBytes: UInt64 = 0
  /// The newest complete transaction; the transaction of the checkpoint if the log has none.
  package private(set) var newestTransaction: UInt64
  /// The newest transaction that was begun, complete or not.
  package private(set) var lastTransaction: UInt64
  /// The offset before which everything was durable, according to slots and frames.
  package private(set) var durableThrough: UInt64
  package private(set) var fault: StorageError?
  /// The end of the file, from the first byte that is not known to be without frames, because there
  /// are more bytes after the log than are searched; nil if all were.
  package private(set) var unsearched: Range<UInt64>?

  init(_ frames: FrameReader, from checkpoint: InspectedCheckpoint?, slots: [InspectedSlot])
    throws(StorageError)
  {
    start = checkpoint?.record.replay ?? .start
    end = start
    newestTransaction = checkpoint?.record.transaction ?? 0
    lastTransaction = max(newestTransaction, checkpoint?.frame.transaction ?? 0)
    durableThrough = slots.reduce(0) { max($0, $1.slot?.durableThrough ?? 0) }
    var walk = LogFrames(frames, from: start, lastTransaction: newestTransaction)
    while true {
      while let frame = try walk.next() { take(frame) }
      end = walk.position
      self.frames = walk.count
      durableThrough = max(durableThrough, walk.durableThrough)
      let claim = walk.hasEnded ? nil : try claim(beyond: end.offset, frames)
      guard let floor = [claim, durableThrough].compactMap({ $0 }).max(), end.offset < floor else { break }
      // A writer may have completed the frame since this walk reached it; all durable frames are
      // complete by now.
      try frames.reader.refresh()
      if try frames.frame(at: end.offset) != nil, let frame = try walk.next() {
        take(frame)
        continue
      }
      tail = .damaged
      fault = .damaged(at: end.offset, "the log is damaged here: commits that had been made durable follow")
      return
    }
    tail = try kindOfTail(walk.hasEnded, frames.reader)
  }

  private mutating func take(_ frame: FrameHeader) {
    lastTransaction = max(lastTransaction, frame.transaction)
    guard frame.kind == .commit, let end = frame.end else { return }
    commits += 1
    commitBytes += end - frame.ownOffset
    if !frame.continues {
      transactions += 1
      newestTransaction = frame.transaction
    }
  }

  private func kindOfTail(_ hasEnded: Bool, _ reader: FileReader) throws(StorageError) -> Tail {
    if end.offset >= reader.size { return .none }
    if hasEnded { return .ended }
    let isZero = try reader.isZero(end.offset..<(unsearched?.lowerBound ?? reader.size))
    return isZero && unsearched == nil ? .reserved : .skipped
  }

  /// Returns the greatest *durable through* beyond `offset` in a sound frame after it.
  private mutating func claim(beyond offset: UInt64, _ frames: FrameReader) throws(StorageError) -> UInt64? {
    var budget = (frames.reader.size - min(frames.reader.size, offset)).multipliedReportingOverflow(by: 16)
      .partialValue
    var ranges = frames.reader.storedRanges(in: offset..<max(offset, frames.reader.size))
    var rest = frames.reader.searchLimit
    unsearched = nil
    while let stored = ranges.next() {
      let part = stored.lowerBound..<stored.lowerBound + min(rest, stored.upperBound - stored.lowerBound)
      rest -= part.upperBound - part.lowerBound
      if part != stored { unsearched = part.upperBound..<frames.reader.size }
      var scan = FrameScan(frames, in: part, accepting: .unverified)
      while let header = try scan.nextHeader() {
        guard header.durableThrough > offset else { continue }
        // A crafted file can be full of headers of large frames. That counts as damage as well.
        let cost = header.kind == .nodes ? 0 : header.payloadLength
        guard cost <= budget else { return header.durableThrough }
        if try frames.isSound(header) { return header.durableThrough }
        budget -= cost
      }
      if unsearched != nil { break }
    }
    return nil
  }
}

extension InspectedFile {
  /// Returns the length of the commit frames that no checkpoint contains, with the padding between
  /// them. This is the log in a map of the file, but nothing else is read. O(frames of the log).
  package func unmergedBytes() throws(StorageError) -> UInt64 {
    guard newestSlot != nil else { return 0 }
    var bytes: UInt64 = 0
    var walk = logFrames()
    var start = walk.position.offset
    while walk.position.offset < log.end.offset, let frame = try walk.next() {
      let end = min(walk.position.offset, size)
      if frame.kind == .commit { bytes += end - min(start, end) }
      start = walk.position.offset
    }
    return bytes
  }
}
