import LatewoodBytes
import LatewoodDevice

/// The result of verifying the header, the root slots and the log.
package struct LogVerification: Sendable, Equatable {
  package var frames: UInt64 = 0
  package var bytes: UInt64 = 0
  package var faults: [StorageError] = []
  package var tornTail: LogRemainder?
  /// Whether all frames are intact, so that the operations in them can be read.
  package var isLogIntact = true
}

extension DatabaseFile {
  /// Verifies both copies of the header, both root slots, the frames from the newest checkpoint's
  /// replay offset, or from `known` if that is lower, to `end`, and the bytes after the log.
  ///
  /// Reads the disk instead of the cache where the system can. O(bytes of that part of the log).
  /// Can be called from any thread, while commits continue. Throws errors of the device.
  package func verify(
    from known: ReplayPosition? = nil, through end: UInt64
  ) throws(StorageError) -> LogVerification {
    var result = LogVerification()
    for offset in [0, FileLayout.headerCopyOffset] {
      if try !isHeaderSound(at: offset) {
        result.faults.append(.damaged(at: offset, "a copy of the header is damaged"))
      }
    }
    let slots = try slots.read()
    for index in 0..<2 where !slots.contains(where: { $0.index == index }) {
      result.faults.append(.damaged(at: FileLayout.slotOffset(index), "a root slot is damaged"))
    }
    // The size is read after the slots, which may refer to a checkpoint that another process has
    // just written.
    let view = try view(through: try checkedSize())
    let choice = try ViewedBytes(view).newest(of: slots)
    var start = choice.replay
    if let known, known.offset < start.offset { start = known }
    // Frames after a gap are not valid yet.
    let end = progress.gap.map { min(end, $0.lowerBound) } ?? end
    var reader = LogReader(view: view, from: start)
    do throws(StorageError) {
      try walkOnDisk(&reader, through: end)
    } catch {
      guard error.kind == .inputOutput || error.kind == .damaged else { throw error }
      result.isLogIntact = false
      result.faults.append(error)
      return result
    }
    if choice.isOlder, let newest = slots.first, newest.generation != choice.slot.generation,
      newest.checkpointOffset >= reader.position.offset,
      newest.checkpointOffset < max(choice.durableThrough, reader.durableThrough)
    {
      // A slot may reach the disk before its checkpoint does, but not if the log there is known to
      // have been durable. If the log is sound on both sides of that offset, a power cut took the
      // checkpoint, and the frames written there since are valid.
      result.faults.append(
        .damaged(at: newest.checkpointOffset, "the newest root slot names a checkpoint that is not sound"))
    }
    result.frames = reader.frames
    result.bytes = reader.position.offset - start.offset
    if reader.position.offset < end {
      result.isLogIntact = false
      result.faults.append(.damaged(at: reader.position.offset, "a frame of the log is damaged"))
    } else {
      try checkTail(reader, floor: choice.durableThrough, &result)
    }
    return result
  }

  /// Reports the bytes after the log. They are a fault if they had been durable or cannot be read.
  private func checkTail(
    _ reader: LogReader<ViewedBytes>, floor: UInt64, _ result: inout LogVerification
  ) throws(StorageError) {
    do throws(StorageError) {
      result.tornTail = try tornTail(behind: reader, floor: floor)
    } catch {
      guard error.kind == .inputOutput else { throw error }
      result.faults.append(error)
    }
    guard let tail = result.tornTail, tail.isDamage else { return }
    result.faults.append(
      .damaged(
        at: tail.range.lowerBound, "the log is damaged here: commits that had been made durable follow"))
  }

  /// Continues the walk and compares each frame in the mapping with the disk.
  private func walkOnDisk(_ reader: inout LogReader<ViewedBytes>, through end: UInt64) throws(StorageError) {
    var disk = DiskComparison(of: device, codec: header.codec)
    while reader.position.offset < end, let frame = try reader.next() {
      let start = frame.ownOffset
      guard let required = frame.requiredEnd else { return }
      if try !disk.agrees(on: start..<required, mappedAt: reader.view.base) {
        throw StorageError.damaged(at: start, "a frame of the log differs on the disk")
      }
      // The walk has authenticated all other frames.
      if frame.kind == .commit, frame.trailerLength > 0 {
        try reader.view.withOperations(ofFrameAt: start) { _ in }
      }
    }
  }

  private func isHeaderSound(at offset: UInt64) throws(StorageError) -> Bool {
    try withScratch(FileLayout.headerLength) { block throws(StorageError) in
      let count = try device.read(into: block, at: offset)
      do throws(StorageError) {
        return try FileHeader.decode(from: UnsafeRawBufferPointer(rebasing: block[..<count])) == header
      } catch {
        return false
      }
    }
  }
}
