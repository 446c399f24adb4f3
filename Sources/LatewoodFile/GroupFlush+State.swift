import LatewoodBytes

extension GroupFlush.State {
  /// Why nothing can be written any more, if so.
  var poisonRefusal: Fault? {
    if !isStopped { return nil }
    if isClosed { return Fault(.closed, "the file is closed") }
    guard let poison else { return nil }
    if poison.kind == .fileMoved { return poison }
    return Fault(
      .poisoned, "writing failed earlier (\(poison.reason)): open the store again", offset: poison.offset,
      errno: poison.errno)
  }

  /// Why nothing can be appended now. `isStopped` is set.
  func stopFault(forThoseWhoWaited: Bool = false) -> Fault {
    if forThoseWhoWaited, let first = poison ?? shortage { return first }
    return poisonRefusal ?? shortage ?? .commitWithoutSpace
  }

  /// Why a flush of everything before `target` fails, if it does.
  ///
  /// Who was waiting when it happened gets the failure itself; who comes later learns that it is
  /// too late. A lack of space keeps nothing from being synced that is in the file: others may see
  /// it already.
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

  /// Nothing is ever written again.
  mutating func end(with fault: Fault) {
    poison = poison ?? fault
    isStopped = true
  }

  /// Everything before `through` has been written; `open` is the open segment as it was when that
  /// began.
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

  /// What to reserve before a write that will be synced: room for the next small commits, once
  /// there have been some. A sync that has no new length of the file to record is a third cheaper.
  ///
  /// - Parameter isWritten: long commits find their room written; see `roomToWrite`.
  mutating func roomToReserve(from: UInt64, through: UInt64, isWritten: Bool) -> Range<UInt64>? {
    syncs += 1
    syncedLength = through - from
    guard syncs > LogFile.syncsBeforeReserving, through > roomThrough,
      syncedLength < (isWritten ? LogFile.leastWrittenAhead : LogFile.reservedLength)
    else { return nil }
    return makeRoom(from: from, through: through)
  }

  /// What to write zeros to before the next transaction, which begins at `tail`.
  ///
  /// In blocks that were only reserved, the first sync of each is dearer by half or more, because
  /// the file system notes that they are in use now. Where commits are so long that they come upon
  /// a new block every few times, the room is therefore written. Only the writer can do that:
  /// nobody but it and those whom it gives a region to write at or behind `tail`.
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

  /// The open segment ends at `length`, the bytes up to `end` come by other ways, and `next` is
  /// open now.
  mutating func seal(length: Int, end: UInt64, touchable: UInt64, next: Segment) {
    close(length: length)
    open.end = end
    open.touchable = touchable
    closedThrough = end
    if end > writtenThrough { sealed.append(open) }
    open = next
  }

  /// Gives up what waits and goes on at `tail`, past everything that may have been written.
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
