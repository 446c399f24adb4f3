import LatewoodBytes
import LatewoodDevice

/// What a verification of header, root slots and log found.
package struct LogVerification: Sendable, Equatable {
  package var frames: UInt64 = 0
  package var bytes: UInt64 = 0
  package var faults: [Fault] = []
  package var tornTail: TornTail?
  /// Whether all frames are what was written, so that the operations in them can be read.
  package var hasWholeLog = true
}

extension LogFile {
  /// Checks both copies of the header, both root slots, and the frames from the newest checkpoint's
  /// replay offset, or from `known` if that comes before, to `end`; and looks at what lies behind
  /// the log.
  ///
  /// What the disk has is read, not what is cached of it, where the system has a way to do that.
  /// O(bytes of that part of the log). From any thread; commits go on meanwhile. Throws what the
  /// device throws.
  package func verify(
    from known: ReplayPosition? = nil, through end: UInt64
  ) throws(Fault) -> LogVerification {
    var result = LogVerification()
    for offset in [0, FileLayout.headerCopyOffset] {
      if try !isHeaderSound(at: offset) {
        result.faults.append(.damaged(at: offset, "a copy of the header is damaged"))
      }
    }
    let slots = try readSlots()
    for place in 0..<2 where !slots.contains(where: { $0.place == place }) {
      result.faults.append(.damaged(at: FileLayout.slotOffset(place), "a root slot is damaged"))
    }
    // All of the file, as it was after the slots were read: they may name a checkpoint that another
    // process has just written.
    let view = try view(through: try checkedSize())
    let choice = try chooseSlot(slots, in: view)
    var start = choice.replay
    if let known, known.offset < start.offset { start = known }
    // What lies behind a gap does not count yet.
    let end = group.locked { $0.needsCheckpoint ? min(end, $0.gapStart) : end }
    var walk = LogWalk(view: view, size: view.limit, from: start)
    do throws(Fault) {
      try walkOnDisk(&walk, through: end)
    } catch {
      guard error.kind == .inputOutput || error.kind == .damaged else { throw error }
      result.hasWholeLog = false
      result.faults.append(error)
      return result
    }
    if choice.isOlder, let newest = slots.first, newest.generation != choice.slot.generation,
      newest.checkpointOffset >= walk.position.offset,
      newest.checkpointOffset < max(choice.durableThrough, walk.durableThrough)
    {
      // A slot may reach the disk before its checkpoint does; but not if that is known to have been
      // durable. Where the log is sound on both sides of that place, its checkpoint never was in
      // it: a power cut took it, and what was written there since is right.
      result.faults.append(
        .damaged(at: newest.checkpointOffset, "the newest root slot names a checkpoint that is not sound"))
    }
    result.frames = UInt64(walk.frames)
    result.bytes = walk.position.offset - start.offset
    if walk.position.offset < end {
      result.hasWholeLog = false
      result.faults.append(.damaged(at: walk.position.offset, "a frame of the log is damaged"))
    } else {
      try lookBehind(walk, floor: choice.durableThrough, &result)
    }
    return result
  }

  /// Reports what lies behind the log. It is a fault if it had been durable, or cannot be read.
  private func lookBehind(
    _ walk: LogWalk, floor: UInt64, _ result: inout LogVerification
  ) throws(Fault) {
    do throws(Fault) {
      result.tornTail = try tornTail(behind: walk, floor: floor)
    } catch {
      guard error.kind == .inputOutput else { throw error }
      result.faults.append(error)
    }
    guard let tail = result.tornTail, tail.isDamage else { return }
    result.faults.append(
      .damaged(
        at: tail.range.lowerBound, "the log is damaged here: commits that had been made durable follow"))
  }

  /// Walks on, and compares what the mapping shows of each frame with what the disk has.
  private func walkOnDisk(_ walk: inout LogWalk, through end: UInt64) throws(Fault) {
    var disk = DiskView(of: device, mappedAt: walk.view.base)
    while walk.position.offset < end, let frame = try walk.next() {
      let start = frame.ownOffset
      guard let required = frame.requiredEnd else { return }
      if try !disk.agrees(on: start..<required) {
        throw Fault.damaged(at: start, "the disk does not have a frame of the log as it was written")
      }
    }
  }

  /// Proves the frames between two places of the log before what they say is made official.
  ///
  /// Where one is not what was written, throws `damaged`, and nothing is written after that:
  /// whoever opens the file would not find what follows such a frame. Throws `inputOutput`, with no
  /// such effect, if the disk does not give it; and as `checkWriting`. O(bytes of the log between).
  /// From any thread.
  package func proveFrames(from start: ReplayPosition, to end: UInt64) throws(Fault) {
    try checkWriting()
    // What lies behind a gap holds no operations yet.
    let end = group.locked { $0.needsCheckpoint ? min(end, $0.gapStart) : end }
    let view = view
    var walk = LogWalk(view: view, size: view.limit, from: start)
    while walk.position.offset < end, try walk.next() != nil {}
    guard walk.position.offset < end else { return }
    let fault = Fault.damaged(
      at: walk.position.offset, "a frame of the log is not what was written, so nothing more is written")
    endWriting(fault)
    throw fault
  }

  /// Refuses all writing from here on. From any thread.
  package func endWriting(_ fault: Fault) { group.locked { $0.end(with: fault) } }

  private func isHeaderSound(at offset: UInt64) throws(Fault) -> Bool {
    try withScratch(FileLayout.headerLength) { block throws(Fault) in
      let count = try device.read(into: block, at: offset)
      do throws(Fault) {
        return try FileHeader.decode(from: UnsafeRawBufferPointer(rebasing: block[..<count])) == header
      } catch {
        return false
      }
    }
  }
}
