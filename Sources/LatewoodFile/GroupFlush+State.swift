import LatewoodBytes

extension GroupFlush.State {
  /// The error for every write from now on; nil if writing is possible, or only stopped for lack of
  /// space.
  var poisonRefusal: Fault? {
    if !isStopped { return nil }
    if isClosed { return Fault(.closed, "the file is closed") }
    guard let poison else { return nil }
    if poison.kind == .fileMoved { return poison }
    return Fault(
      .poisoned, "writing failed earlier (\(poison.reason)): open the store again", offset: poison.offset,
      errno: poison.errno)
  }

  /// The reason why nothing can be appended now. `isStopped` must be set.
  func stopFault(forThoseWhoWaited: Bool = false) -> Fault {
    if forThoseWhoWaited, let first = poison ?? shortage { return first }
    return poisonRefusal ?? shortage ?? .commitWithoutSpace
  }

  /// The error of a flush of everything before `target`; nil if it can proceed.
  ///
  /// Threads that were waiting get the failure itself; later ones get `poisoned`. A lack of space
  /// does not prevent a sync of bytes already in the file, because others may see them already.
  func refusal(of target: UInt64, _ durable: Bool, hasWaited: Bool) -> Fault? {
    if isGivenUp(target) { return .commitWithoutSpace }
    if !isStopped || (durable && isSyncable(target)) { return nil }
    return stopFault(forThoseWhoWaited: hasWaited)
  }

  func isDone(_ target: UInt64, _ durable: Bool) -> Bool {
    target <= (durable ? syncedThrough : writtenThrough)
  }

  /// Whether everything before `target` is in the file, which may still be synced.
  func isSyncable(_ target: UInt64) -> Bool { target <= writtenThrough && poison == nil && !isClosed }

  func isGivenUp(_ target: UInt64) -> Bool {
    !givenUp.isEmpty && givenUp.contains { $0.lowerBound < target && target <= $0.upperBound }
  }

  mutating func fail(_ fault: Fault) {
    if fault.kind == .outOfSpace {
      shortage = shortage ?? fault
      isStopped = true
    } else {
      end(with: fault)
    }
  }

  /// Ends all writing for good.
  mutating func end(with fault: Fault) {
    poison = poison ?? fault
    isStopped = true
  }

  /// Notes that everything before `through` has been written; `written` is the open segment as it
  /// was when the write began.
  mutating func finishWriting(through: UInt64, open written: Segment) {
    writtenThrough = through
    for segment in sealed where segment.end <= through {
      touchableThrough = max(touchableThrough, segment.touchable)
    }
    if !sealed.isEmpty { sealed.removeAll { $0.end <= through } }
    if written.length > 0 {
      touchableThrough = max(touchableThrough, written.offset + UInt64(written.length))
    }
  }

  /// The range to preallocate before a write that will be synced, for the small commits that
  /// follow; nil if there is no need. A sync that does not have to record a new file length is a
  /// third cheaper.
  ///
  /// - Parameter isWritten: whether the space for long commits is filled with zeros by the writer;
  ///   see `roomToWrite`.
  mutating func roomToReserve(from: UInt64, through: UInt64, isWritten: Bool) -> Range<UInt64>? {
    syncs += 1
    syncedLength = through - from
    guard syncs > LogFile.syncsBeforeReserving, through > roomThrough,
      syncedLength < (isWritten ? LogFile.leastWrittenAhead : LogFile.reservedLength)
    else { return nil }
    return makeRoom(from: from, through: through)
  }

  /// The range to fill with zeros before the next transaction, which begins at `tail`; nil if there
  /// is no need.
  ///
  /// The first sync of a block that was only reserved costs half as much again or more, because the
  /// file system records that the block is now in use. If commits are so long that every few of
  /// them reach a new block, the space is therefore filled with zeros ahead of time. Only the
  /// writer can do that: nobody else writes at or behind `tail`, except into regions that the
  /// writer handed out.
  mutating func roomToWrite(at tail: UInt64) -> Range<UInt64>? {
    guard syncs > LogFile.syncsBeforeReserving, tail + syncedLength > roomThrough,
      (LogFile.leastWrittenAhead..<LogFile.reservedLength / 4).contains(syncedLength),
      syncs - syncsAtRoom >= 4
    else { return nil }
    return makeRoom(from: tail, through: tail)
  }

  private mutating func makeRoom(from: UInt64, through: UInt64) -> Range<UInt64> {
    roomThrough = through + LogFile.reservedLength
    syncsAtRoom = syncs
    return from..<roomThrough
  }

  mutating func finishSync(through: UInt64) {
    syncedThrough = max(syncedThrough, through)
    if !needsCheckpoint { durableMark = max(durableMark, syncedThrough) }
  }

  /// The open segment is complete up to `length`.
  mutating func close(length: Int) {
    open.length = length
    open.end = open.offset + UInt64(length)
    open.touchable = open.end
    closedThrough = open.end
  }

  /// Ends the open segment at `length` and opens `next`. The bytes in between, up to `end`, are
  /// written separately.
  mutating func seal(length: Int, end: UInt64, touchable: UInt64, next: Segment) {
    close(length: length)
    open.end = end
    open.touchable = touchable
    closedThrough = end
    if end > writtenThrough { sealed.append(open) }
    open = next
  }

  /// Gives up everything not yet written and continues at `tail`, past everything that may have
  /// been written.
  mutating func restart(at tail: UInt64, open next: Segment) {
    if closedThrough > writtenThrough { givenUp.append(writtenThrough..<closedThrough) }
    if !needsCheckpoint { gapStart = writtenThrough }
    sealed = []
    open = next
    chainStart = tail
    closedThrough = tail
    writtenThrough = tail
    shortage = nil
    isStopped = poison != nil || isClosed
    needsCheckpoint = true
  }
}
