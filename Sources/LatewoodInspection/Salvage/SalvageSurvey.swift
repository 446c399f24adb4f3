import LatewoodBytes
import LatewoodFile

/// What one pass over all frames of a file says: where it is damaged, which checkpoints it has, and
/// for which transactions the log is whole.
struct SalvageSurvey {
  /// Bytes between frames.
  struct Gap {
    var range: Range<UInt64>
    /// The newest transaction before it.
    var before: UInt64
    /// Transactions that can have been in it. At the end of the file, nobody knows.
    var lost: ClosedRange<UInt64>?
    var isAtEnd = false
    /// Nothing but zeros: reserved room at the end, or space that was given back.
    var isZero = false
    /// A frame after it begins the log anew, as after a tail that was never acknowledged.
    var isBeforeRestart = false
  }

  private(set) var gaps: [Gap] = []
  private(set) var checkpoints: [InspectedCheckpoint] = []
  /// The greatest *durable through* of all frames.
  private(set) var durableThrough: UInt64 = 0
  /// Offsets of seals that end the log of a backup.
  private(set) var ends: [UInt64] = []
  private(set) var hasNodes = false
  private(set) var frames = 0
  /// Numbers of transactions that are missing between two frames without a gap: given up, or before
  /// the file was compacted.
  private var skips: [(offset: UInt64, through: UInt64)] = []

  init(_ file: FrameReader) throws(Fault) {
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
          // A commit's own number is the first that cannot be lost; any other frame says which was
          // the last begun before it.
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

  private mutating func take(_ header: FrameHeader, _ file: FrameReader) throws(Fault) {
    durableThrough = max(durableThrough, header.durableThrough)
    switch header.kind {
    // One that says the impossible is passed over like one that is not there.
    case .checkpoint: if let found = try InspectedCheckpoint(header, file) { checkpoints.append(found) }
    case .nodes: hasNodes = true
    case .seal: if header.endsLog { ends.append(header.ownOffset) }
    case .commit: break
    }
  }

  /// The gap that has bytes of `range`. Gaps are in the order of the file.
  func gap(in range: Range<UInt64>) -> Gap? {
    var (start, end) = (0, gaps.count)
    while start < end {
      let middle = (start + end) / 2
      if gaps[middle].range.upperBound <= range.lowerBound { start = middle + 1 } else { end = middle }
    }
    return start < gaps.count && gaps[start].range.overlaps(range) ? gaps[start] : nil
  }

  /// The least number such that all transactions after it, up to those whose log ends at `end`, are
  /// in frames of the file.
  ///
  /// - Parameter newest: the transaction of the checkpoint that was read.
  func wholeAfter(before end: UInt64, upTo newest: UInt64) -> UInt64 {
    var whole: UInt64 = 0
    for gap in gaps where gap.range.lowerBound < end {
      if let lost = gap.lost { whole = max(whole, lost.upperBound) }
    }
    for skip in skips where skip.offset < end { whole = max(whole, skip.through) }
    // The tree of a compacted file holds what no frame of it does.
    for checkpoint in checkpoints where checkpoint.record.isCompaction {
      if checkpoint.record.transaction <= newest { whole = max(whole, checkpoint.record.transaction) }
    }
    return whole
  }
}
