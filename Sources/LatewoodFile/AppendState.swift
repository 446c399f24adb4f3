import LatewoodBytes

/// The writer's place in the log, in raw memory so that a put counts no references and checks no
/// exclusivity.
///
/// ```
/// file    base + offset .............| flushedThrough
/// chunk                    | segmentOffset ... frameStart ... position ... capacity |
///                            memory         \ header 56 | records ... \ next record
/// ```
///
/// Invariants (all of it belongs to the writer, the thread that holds the store's writer lock):
/// 1. Until it is written, byte `segmentOffset + n` of the file is byte `n` at `memory`, for `n`
///    below `position`.
/// 2. `segmentOffset + frameStart` is the end of the log's last complete frame, rounded up; the
///    next frame starts there.
/// 3. Everything in frames below `flushedThrough` is in the file and can be read through the
///    mapping.
@usableFromInline package struct AppendState {
  /// The start of the mapping, which covers everything written and everything that may be appended
  /// before the next `checkLength`.
  @usableFromInline var base: UnsafeRawPointer
  /// The number of bytes that the mapping covers.
  var mappedThrough: UInt64
  /// Records below this are read through the mapping.
  @usableFromInline package var flushedThrough: UInt64
  @usableFromInline var memory: UnsafeMutableRawPointer
  @usableFromInline package var segmentOffset: UInt64
  var position = 0
  var capacity: Int
  var frameStart = 0
  let seed: UInt64
  var lastFrameChecksum: UInt64 = 0
  var durableThrough: UInt64 = 0
  /// The number of the open transaction, or of the last one.
  var transaction: UInt64 = 0
  var isOpen = false
  /// Whether that transaction has put something.
  var hasPut = false
  /// The end of the log when that transaction began.
  var transactionStart: UInt64 = FileLayout.logStart
  /// The number of complete frames of the open transaction. They can no longer be taken back.
  var closedFrames = 0

  /// The record at `offset`, which the writer has appended, if it is in the open segment.
  func recordInMemory(at offset: UInt64) -> LogRecord? {
    guard offset >= segmentOffset else { return nil }
    return LogRecord(trusted: UnsafeRawPointer(memory) + Int(offset &- segmentOffset))
  }

  /// Returns the record at `offset` if it was in the file when the writer last looked; nil if it
  /// was not, or if the bytes there are not a valid record.
  func recordInFile(at offset: UInt64) -> LogRecord? {
    let end = min(flushedThrough, mappedThrough)
    guard offset < end else { return nil }
    // SAFETY: the mapping covers the bytes, and by invariant 3 they are in the file.
    return LogRecord.validated(
      at: base + Int(truncatingIfNeeded: offset), end: base + Int(truncatingIfNeeded: end))?.record
  }

  /// The offset of the next frame.
  var tail: UInt64 { segmentOffset &+ UInt64(frameStart) }
  var frameHasRecords: Bool { position > frameStart + FrameHeader.length }
}
