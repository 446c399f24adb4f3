import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// Writes frames, and the bytes between them, to the file.
///
/// Invariant: a walk finds all frames that are written together, or none, because the header of the
/// first is written last. Therefore a write that runs out of space part way does not leave any of
/// them in the log, neither for concurrent readers nor after the process ends.
///
/// Thread safety: `write(_:_:from:through:)` by one thread at a time; the rest by any.
final class FrameWriter: Sendable {
  let device: any Device
  let fileLock: (any FileLock)?
  /// Incremented before and after frames are written, so it is odd in between.
  private let writes = Atomic<UInt64>(0)
  /// The zeros written by one call. A longer write would be cached in larger units, all of whose
  /// blocks each later write and sync has to check.
  private static let zeros = [UInt8](repeating: 0, count: 64 << 10)

  init(_ device: any Device, _ fileLock: (any FileLock)?) {
    self.device = device
    self.fileLock = fileLock
  }

  /// Throws in a forked child, which inherits the file but not its locks.
  func checkOwner() throws(StorageError) {
    if let fileLock, !fileLock.isOwnedByThisProcess {
      throw StorageError(
        .lockedByOtherProcess, "the store was opened before a fork: the child must open its own")
    }
  }

  /// Runs `body`, which writes frames, while others yield.
  func inTurn(_ body: () throws(StorageError) -> Void) throws(StorageError) {
    writes.wrappingAdd(1, ordering: .relaxed)
    defer { writes.wrappingAdd(1, ordering: .relaxed) }
    try body()
  }

  /// Writes the frames between two offsets so that a walk finds all of them or none.
  func write(_ waiting: [Segment], _ open: Segment, from: UInt64, through: UInt64) throws(StorageError) {
    let first = waiting.first { $0.offset + UInt64($0.length) > from } ?? open
    // SAFETY: `from` is the end of a frame and less than `through`, so another frame follows, with
    // its header complete in memory.
    let header = first.memory + Int(from - first.offset)
    let end = FrameHeader.decode(from: header, at: from)?.end.flatMap(FileLayout.alignedToFrame)
    // A walk rejects a single incomplete frame, but the first of several frames could be complete.
    let isAlone = (end ?? from) >= through
    let start = isAlone ? from : from + UInt64(FrameHeader.length)
    for segment in waiting { try write(segment, from: start) }
    try write(open, from: start)
    if !isAlone {
      try device.write(UnsafeRawBufferPointer(start: header, count: FrameHeader.length), at: from)
    }
    for segment in waiting { try pin(segment, from: from) }
    try pin(open, from: from)
  }

  private func write(_ segment: Segment, from: UInt64) throws(StorageError) {
    let done = from > segment.offset ? Int(min(from - segment.offset, UInt64(segment.length))) : 0
    guard segment.length > done else { return }
    let bytes = UnsafeRawBufferPointer(start: segment.memory + done, count: segment.length - done)
    try device.write(bytes, at: segment.offset + UInt64(done))
  }

  /// Keeps a segment in memory, because readers now find its records through the mapping.
  private func pin(_ segment: Segment, from: UInt64) throws(StorageError) {
    let end = segment.offset + UInt64(segment.length)
    if end > from { try device.pinMapped(max(from, segment.offset)..<end) }
  }

  /// Writes bytes that are not part of waiting frames, piece by piece, and lets frames pass before
  /// each piece.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64, pieces: Int) throws(StorageError) {
    var at = 0
    while at < bytes.count {
      let count = min(pieces, bytes.count - at)
      yieldToFrames()
      try device.write(UnsafeRawBufferPointer(rebasing: bytes[at..<at + count]), at: offset + UInt64(at))
      at += count
    }
  }

  /// Writes zeros, which a walk treats as unused space.
  func writeZeros(_ range: Range<UInt64>) throws(StorageError) {
    var offset = range.lowerBound
    while offset < range.upperBound {
      let length = min(Int(range.upperBound - offset), FrameWriter.zeros.count)
      let result = FrameWriter.zeros.withUnsafeBytes { bytes in
        Result { () throws(StorageError) in
          try device.write(UnsafeRawBufferPointer(rebasing: bytes[..<length]), at: offset)
        }
      }
      try result.get()
      offset += UInt64(length)
    }
  }

  /// Yields to a thread that is writing frames.
  ///
  /// File systems let one thread at a time change a file, without fairness: writing piece after
  /// piece, or punching block after block, would delay a small commit by milliseconds. Therefore
  /// this is called before each piece. It only waits briefly, and does not guarantee a turn.
  func yieldToFrames() {
    let turn = writes.load(ordering: .relaxed)
    if turn & 1 == 0 { return }
    for _ in 0..<100 {
      Monitor.yieldProcessor()
      if writes.load(ordering: .relaxed) != turn { return }
    }
  }
}

/// Requests the system to write cached pages of a file's log before a sync has to wait for them: 8
/// MiB at a time, on a separate thread, because the call blocks while the disk is busy.
///
/// Thread safety: all methods may be called from any thread.
package final class Writeback: Sendable {
  private static let step: UInt64 = 8 << 20

  private let device: any Device
  /// The offset up to which writing has been requested.
  private let through = Atomic<UInt64>(0)
  private let queue = DispatchQueue(label: "latewood.writeback", qos: .utility)

  init(_ device: any Device) { self.device = device }

  /// Starts at an offset of the log.
  package func restart(at offset: UInt64) { through.store(offset, ordering: .relaxed) }

  /// Requests writing of the log up to `end`, if enough of it is new.
  package func advance(through end: UInt64) {
    let start = through.load(ordering: .relaxed)
    guard end > start, end - start >= Writeback.step,
      through.compareExchange(expected: start, desired: end, ordering: .relaxed).exchanged
    else { return }
    queue.async { [device] in device.startWriteback(offset: start, length: end - start) }
  }
}
