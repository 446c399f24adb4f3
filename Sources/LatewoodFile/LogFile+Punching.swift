import LatewoodBytes

/// Giving dead parts of the file back to the file system: FORMAT.md, section 1.
extension LogFile {
  /// A multiple of every length of a block.
  private static let longestPunch: UInt64 = 1 << 20

  /// The frames between two places of the log, without the room that nodes frames reserve: what a
  /// replay needs that starts at the first and not one that starts at the second.
  ///
  /// It ends early where the log began anew after a gap; what is after that is found by nobody but
  /// who reads the whole file. O(bytes of the log between). From any thread. Throws what the device
  /// throws.
  ///
  /// - Returns: the ranges, and whether it came to `end`.
  package func frames(
    from start: ReplayPosition, to end: UInt64
  ) throws(Fault) -> (ranges: [DeadRange], isWhole: Bool) {
    let view = view
    var walk = LogWalk(view: view, size: view.limit, from: start)
    var ranges: [DeadRange] = []
    var at = start.offset
    // The frame's checksum is compared: to take a header for another would give live nodes away.
    while walk.position.offset < end, let frame = try walk.next() {
      guard frame.kind == .nodes else { continue }
      let room = frame.ownOffset + UInt64(FrameHeader.length)
      let firstNode = (room + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
      ranges.append(
        DeadRange(start: at, end: min(firstNode, walk.position.offset), endsInNode: false))
      at = walk.position.offset
    }
    let last = min(walk.position.offset, end)
    if at < last { ranges.append(DeadRange(start: at, end: last, endsInNode: false)) }
    return (ranges, walk.position.offset >= end)
  }

  /// Makes both root slots name `checkpoint`, durably: nothing that it does not need can be asked
  /// for again, whichever slot is lost.
  ///
  /// The slot that `writeSlot` wrote last must name it already. They are not written without a sync
  /// between, so that a power cut spoils one of them at most. Two syncs; the first failure of one
  /// ends all writing. Throws as `flush`. From the thread that checkpoints.
  package func writeBothSlots(naming checkpoint: AppendedCheckpoint, oldestWhole: UInt64) throws(Fault) {
    try syncNodes()
    oldestWholeCheckpoint = oldestWhole
    try writeSlot(naming: checkpoint)
    try syncNodes()
  }

  /// Whether bytes between two dead ranges are zeros, as between two nodes, and not the header of a
  /// frame.
  package func isPadding(_ bytes: Range<UInt64>) -> Bool {
    let view = view
    guard bytes.upperBound <= view.limit else { return false }
    // What cannot be read is not known to be anything.
    do throws(Fault) { try view.makeReadable(bytes.lowerBound, bytes.count) } catch { return false }
    // SAFETY: the bytes are below the limit of the view.
    return UnsafeRawBufferPointer(start: view.base + Int(bytes.lowerBound), count: bytes.count)
      .allSatisfy { $0 == 0 }
  }

  /// Gives blocks back, `blocks` from the last on, until `enough` says so; whoever reads the file
  /// in another process is not there then.
  ///
  /// - Parameter blocks: whole blocks of `device.blockLength` that nothing refers to. What was
  ///   given back is taken out.
  /// - Returns: `done`; `busy` if a reader is there or `enough` came first; `unsupported` if there
  ///   is no such thing here.
  ///
  /// Throws what the device throws; what `blocks` has then may have been given back or not. The
  /// failure does not end writing.
  package func punch(_ blocks: inout [Range<UInt64>], until enough: () -> Bool) throws(Fault) -> PunchOutcome
  {
    if blocks.isEmpty { return .done }
    try group.check()
    try group.checkOwner()
    guard try device.tryLockExclusively() else { return .busy }
    defer { device.unlockExclusively() }
    while let block = blocks.last {
      if enough() { return .busy }
      guard block.lowerBound >= FileLayout.logStart else {
        throw Fault.damaged(at: block.lowerBound, "the beginning of the file cannot be given back")
      }
      // While the system gives some back nobody can write to the file.
      let start = max(block.lowerBound, block.upperBound - min(block.upperBound, LogFile.longestPunch))
      group.giveWay()
      guard try device.punch(offset: start, length: block.upperBound - start) else {
        return .unsupported
      }
      blocks.removeLast()
      if start > block.lowerBound { blocks.append(block.lowerBound..<start) }
    }
    return .done
  }

  /// Whether a reader is there now, in this process or another.
  package func hasReaders() throws(Fault) -> Bool {
    try group.checkOwner()
    guard try device.tryLockExclusively() else { return true }
    device.unlockExclusively()
    return false
  }
}

/// How far `LogFile.punch` got.
package enum PunchOutcome: Sendable { case done, busy, unsupported }
