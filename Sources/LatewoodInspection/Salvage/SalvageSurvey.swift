import LatewoodBytes
import LatewoodFile

/// The result of one pass over all frames of a file: its damage, its checkpoints, and the
/// transactions for which the log is complete.
struct SalvageSurvey {
  /// A gap between frames.
  struct Gap {
    var range: Range<UInt64>
    /// The newest transaction before it.
    var before: UInt64
    /// The transactions that may have been in it. At the end of the file this is unknown.
    var lost: ClosedRange<UInt64>?
    var isAtEnd = false
    /// Whether it consists of zeros: preallocated space at the end, or space that was punched out.
    var isZero = false
    /// Whether a frame after it restarts the log, as after a tail that was never acknowledged.
    var isBeforeRestart = false
  }

  private(set) var gaps: [Gap] = []
  private(set) var checkpoints: [FoundCheckpoint] = []
  /// The greatest *durable through* of all frames.
  private(set) var durableThrough: UInt64 = 0
  /// The offsets of seals that end the log of a backup.
  private(set) var ends: [UInt64] = []
  private(set) var hasNodes = false
  private(set) var frames = 0
  /// The numbers of transactions that are missing between two frames without a gap, because they
  /// were abandoned, or precede a compaction.
  private var skips: [(offset: UInt64, through: UInt64)] = []

  init(_ file: UnitReader) throws(StorageError) {
    var walk = file.soundFrames(from: FileLayout.logStart)
    var newest: UInt64 = 0
    while let piece = try walk.next() {
      switch piece {
      case .gap(let range):
        var gap = Gap(range: range, before: newest)
        gap.isAtEnd = range.upperBound == file.reader.size
        gap.isZero = try file.reader.isZero(range)
        gaps.append(gap)
      case .frame(let header, _, _):
        frames += 1
        if let last = gaps.indices.last, gaps[last].range.upperBound == header.ownOffset {
          // A commit's own transaction is not lost, only earlier ones; any other frame contains the
          // number of the last transaction that was begun before it.
          let first = newest + 1
          let final = header.kind == .commit ? header.transaction &- 1 : header.transaction
          if final >= first {
            gaps[last].lost = first...final
          } else if header.kind == .commit, header.transaction == newest {
            // The gap is in the middle of a transaction.
            gaps[last].lost = newest...newest
          }
          gaps[last].isBeforeRestart = header.previousChecksum == 0
        }
        let through = header.kind == .commit ? header.transaction &- 1 : header.transaction
        if through > newest { skips.append((header.ownOffset, through)) }
        newest = max(newest, header.transaction)
        try take(header, file)
      }
    }
  }

  private mutating func take(_ header: FrameHeader, _ file: UnitReader) throws(StorageError) {
    durableThrough = max(durableThrough, header.durableThrough)
    switch header.kind {
    // An impossible checkpoint is ignored, like a missing one.
    case .checkpoint: if let found = try file.checkpoint(in: header) { checkpoints.append(found) }
    case .nodes: hasNodes = true
    case .seal: if header.endsLog { ends.append(header.ownOffset) }
    case .commit: break
    }
  }

  /// Returns the gap that contains bytes of `range`. Gaps are in the order of the file.
  func gap(in range: Range<UInt64>) -> Gap? {
    var (start, end) = (0, gaps.count)
    while start < end {
      let middle = (start + end) / 2
      if gaps[middle].range.upperBound <= range.lowerBound { start = middle + 1 } else { end = middle }
    }
    return start < gaps.count && gaps[start].range.overlaps(range) ? gaps[start] : nil
  }

  /// Returns the least number such that all later transactions in the log before `end` are in
  /// frames of the file.
  ///
  /// - Parameter newest: the transaction of the checkpoint that was read.
  func completeAfter(before end: UInt64, upTo newest: UInt64) -> UInt64 {
    var whole: UInt64 = 0
    for gap in gaps where gap.range.lowerBound < end {
      if let lost = gap.lost { whole = max(whole, lost.upperBound) }
    }
    for skip in skips where skip.offset < end { whole = max(whole, skip.through) }
    // The tree of a compacted file contains transactions that are not in any of its frames.
    for checkpoint in checkpoints where checkpoint.record.isCompaction {
      if checkpoint.record.transaction <= newest { whole = max(whole, checkpoint.record.transaction) }
    }
    return whole
  }
}
