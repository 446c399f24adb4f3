import LatewoodBytes

/// Hole punching: returns dead blocks of the file to the file system (FORMAT.md, section 1).
extension DatabaseFile {
  /// The maximum length punched by one system call, in bytes: a multiple of every block length.
  private static let longestPunch: UInt64 = 1 << 20

  /// The frames between two log positions, without the payloads of nodes frames: the bytes that a
  /// replay from `start` needs and one from `end` does not.
  ///
  /// Stops early at a gap, after which the log restarted. O(bytes of the log between). From any
  /// thread. Throws errors of the device.
  ///
  /// - Returns: the ranges, and whether they reach `end`.
  package func frames(
    from start: ReplayPosition, to end: UInt64
  ) throws(StorageError) -> (ranges: [DeadRange], isComplete: Bool) {
    let view = view
    var reader = LogReader(view: view, size: view.limit, from: start)
    var ranges: [DeadRange] = []
    var at = start.offset
    // `next` verifies the frame's checksum: a wrong header could free live nodes.
    while reader.position.offset < end, let frame = try reader.next() {
      guard frame.kind == .nodes else { continue }
      let payload = frame.ownOffset + UInt64(FrameHeader.length)
      let firstNode = (payload + FileLayout.nodeAlignment - 1) & ~(FileLayout.nodeAlignment - 1)
      ranges.append(
        DeadRange(start: at, end: min(firstNode, reader.position.offset), endsInNode: false))
      at = reader.position.offset
    }
    let last = min(reader.position.offset, end)
    if at < last { ranges.append(DeadRange(start: at, end: last, endsInNode: false)) }
    return (ranges, reader.position.offset >= end)
  }

  /// Whether the bytes between two dead ranges are zeros, as between nodes, and not a frame header.
  /// False if they cannot be read.
  package func isPadding(_ bytes: Range<UInt64>) -> Bool {
    let view = view
    guard bytes.upperBound <= view.limit else { return false }
    let pin = view.pin()
    defer { withExtendedLifetime(pin) {} }
    do throws(StorageError) { try view.makeReadable(bytes.lowerBound, bytes.count) } catch { return false }
    // SAFETY: the bytes are below the limit of the view.
    return UnsafeRawBufferPointer(start: view.base + Int(bytes.lowerBound), count: bytes.count)
      .allSatisfy { $0 == 0 }
  }

  /// Punches blocks, last ones first, until `enough` returns true. Only while no reader has the
  /// file locked.
  ///
  /// - Parameter blocks: unreferenced ranges of complete blocks of `device.blockLength`. Punched
  ///   blocks are removed from the array.
  /// - Returns: `done`; `busy` if there is a reader or `enough` returned true first; `unsupported`
  ///   if the file system cannot do this.
  ///
  /// Throws errors of the device; the blocks then left in `blocks` may or may not have been
  /// punched. The failure does not end writing.
  package func punch(_ blocks: inout [Range<UInt64>], until enough: () -> Bool) throws(StorageError)
    -> PunchOutcome
  {
    if blocks.isEmpty { return .done }
    try progress.check()
    try frames.checkOwner()
    guard try device.tryLockExclusively() else { return .busy }
    defer { device.unlockExclusively() }
    while let block = blocks.last {
      if enough() { return .busy }
      guard block.lowerBound >= FileLayout.logStart else {
        throw StorageError.damaged(at: block.lowerBound, "a dead range overlaps the header or the root slots")
      }
      // The file system blocks writes while it frees blocks.
      let start = max(block.lowerBound, block.upperBound - min(block.upperBound, DatabaseFile.longestPunch))
      frames.yieldToFrames()
      guard try device.punch(offset: start, length: block.upperBound - start) else {
        return .unsupported
      }
      blocks.removeLast()
      if start > block.lowerBound { blocks.append(block.lowerBound..<start) }
    }
    return .done
  }

  /// Whether a reader, in this process or another, has the file locked now.
  package func hasReaders() throws(StorageError) -> Bool {
    try frames.checkOwner()
    guard try device.tryLockExclusively() else { return true }
    device.unlockExclusively()
    return false
  }
}

/// The outcome of `DatabaseFile.punch`.
package enum PunchOutcome: Sendable { case done, busy, unsupported }
