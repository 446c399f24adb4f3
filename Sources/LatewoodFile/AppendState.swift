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
/// Invariants (all of it belongs to the writer: whoever holds the store's writer lock):
/// 1. Byte `segmentOffset + n` of the file is, until it is written, byte `n` at `memory`, for `n`
///    below `position`.
/// 2. `segmentOffset + frameStart` is the end of the log's last complete frame, rounded up: where
///    the next one starts.
/// 3. Everything in frames below `flushedThrough` is in the file and can be read through the
///    mapping.
@usableFromInline package struct AppendState {
  /// Of the mapping that covers what the writer has written and may write until it asks again.
  @usableFromInline var base: UnsafeRawPointer
  /// Bytes that it covers.
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
  /// Of the open transaction, or the last one.
  var transaction: UInt64 = 0
  var isOpen = false
  /// Where the log ended when that began.
  var transactionStart: UInt64 = FileLayout.logStart
  /// Frames of the open transaction that are complete: they can no longer be taken back.
  var closedFrames = 0

  /// The record at `offset`, which the writer has appended, if it is in the open segment.
  func recordInMemory(at offset: UInt64) -> LogRecord? {
    guard offset >= segmentOffset else { return nil }
    return LogRecord(trusted: UnsafeRawPointer(memory) + Int(offset &- segmentOffset))
  }

  /// Where the next frame starts.
  var tail: UInt64 { segmentOffset &+ UInt64(frameStart) }
  var frameHasRecords: Bool { position > frameStart + FrameHeader.length }
}

/// A run of the file that is, or was, waiting in memory.
struct Segment {
  var memory: UnsafeRawPointer
  /// Of its first byte in the file.
  var offset: UInt64
  /// Bytes in memory: all in complete frames.
  var length: Int
  /// Where the next segment starts. What lies between is written by other ways: a large value, or
  /// nodes.
  var end: UInt64
  /// Up to where the file's bytes exist once this segment is written.
  var touchable: UInt64
  var chunk: UnsafeMutableRawPointer
}
