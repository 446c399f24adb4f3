import LatewoodBytes

/// A function that applies one operation, given the number of its transaction, the offset of its
/// record in the file, and the record.
package typealias ReplayAction = (
  _ transaction: UInt64, _ recordOffset: UInt64, _ record: LogRecord
) throws(StorageError) -> Void

/// Applies the operations of frames that a walk has accepted.
///
/// A transaction is applied once its last frame has been read. Until then only the ranges of its
/// frames are kept, even from one refresh to the next, so a transaction may arrive in parts.
struct LogReplay {
  /// The maximum length of a frame that is copied for verification, in bytes. Longer frames, which
  /// contain large values, are verified in the mapping.
  private static let longestCopy: UInt64 = 64 << 20

  /// Whether frames are copied to memory and verified again before they are applied, for callers
  /// that write the operations elsewhere under new checksums.
  private let verifiesFrames: Bool
  private var openTransaction: UInt64 = 0
  private var openPayloads: [Range<UInt64>] = []
  private(set) var transactions = 0
  /// The number of bytes in the commit frames taken so far.
  private(set) var bytes: UInt64 = 0

  init(verifiesFrames: Bool = false) { self.verifiesFrames = verifiesFrames }

  /// Applies the frames in `start ..< end`, all of which a walk over the same bytes has accepted.
  ///
  /// If this throws, the replay is unchanged. The same frames can be applied again once the caller
  /// has undone the effects of `action`.
  mutating func apply(
    view: FileView, from start: UInt64, to end: UInt64, _ action: ReplayAction
  ) throws(StorageError) {
    var next = self
    try next.takeFrames(view: view, from: start, to: end, action)
    self = next
  }

  private mutating func takeFrames(
    view: FileView, from start: UInt64, to end: UInt64, _ action: ReplayAction
  ) throws(StorageError) {
    let bytes = ViewedBytes(view)
    defer { withExtendedLifetime(bytes) {} }
    var offset = start
    while offset < end {
      // A walk has accepted these frames, so this fails only if the file has changed since then.
      guard let header = try bytes.frameHeader(at: offset),
        let frameEnd = header.end,
        let next = FrameHeader.aligned(frameEnd)
      else { throw StorageError.damaged(at: offset, "the log changed while it was read") }
      if header.kind == .commit {
        try bytes.need(offset, frameEnd - offset)
        // Records of these frames are read in place, bypassing the cache's checks.
        if !verifiesFrames {
          try view.pin(offset..<frameEnd)
          try view.decrypt(header)
        }
        try take(header, frameEnd, view, action)
      }
      offset = next
    }
  }

  private mutating func take(
    _ header: FrameHeader, _ end: UInt64, _ view: FileView, _ action: ReplayAction
  ) throws(StorageError) {
    if header.transaction != openTransaction {
      openPayloads.removeAll(keepingCapacity: true)
      openTransaction = header.transaction
    }
    openPayloads.append(header.operations)
    bytes += end - header.ownOffset
    if header.continues { return }
    for payload in openPayloads {
      try applyPayload(payload, header.transaction, view, action)
    }
    openPayloads.removeAll(keepingCapacity: true)
    openTransaction = 0
    transactions += 1
  }

  private func applyPayload(
    _ payload: Range<UInt64>, _ transaction: UInt64, _ view: FileView, _ action: ReplayAction
  ) throws(StorageError) {
    if verifiesFrames { return try applyVerified(payload, transaction, view, action) }
    // SAFETY: the walk found the payload to be within the file.
    try applyPayload(payload, at: view.base + Int(payload.lowerBound), view.codec, transaction, action)
  }

  private func applyVerified(
    _ payload: Range<UInt64>, _ transaction: UInt64, _ view: FileView, _ action: ReplayAction
  ) throws(StorageError) {
    let start = payload.lowerBound - UInt64(FrameHeader.length)
    if view.codec.isEncrypted {
      return try view.withOperations(ofFrameAt: start) { (base) throws(StorageError) in
        try applyPayload(payload, at: base + FrameHeader.length, view.codec, transaction, action)
      }
    }
    let length = payload.upperBound - start
    if length > LogReplay.longestCopy {
      guard try ViewedBytes(view).frame(at: start)?.end == payload.upperBound else {
        throw LogReplay.changed(start)
      }
      return try applyPayload(
        payload, at: view.base + Int(payload.lowerBound), view.codec, transaction, action)
    }
    try withScratch(Int(length)) { frame throws(StorageError) in
      try view.read(into: frame, at: start)
      // SAFETY: the frame has `length` bytes, and a header is shorter.
      guard let base = UnsafeRawPointer(frame.baseAddress),
        let header = FrameHeader.decode(from: base, at: start), header.end == payload.upperBound,
        view.codec.isSound(.frame, at: start, base, Int(length))
      else { throw LogReplay.changed(start) }
      try applyPayload(payload, at: base + FrameHeader.length, view.codec, transaction, action)
    }
  }

  private static func changed(_ offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "a frame of the log has changed since it was written")
  }

  /// - Parameter start: the address of the payload in memory.
  private func applyPayload(
    _ payload: Range<UInt64>, at start: UnsafeRawPointer, _ codec: UnitCodec, _ transaction: UInt64,
    _ action: ReplayAction
  ) throws(StorageError) {
    let end = start + payload.count
    var at = start
    while at < end {
      let offset = payload.lowerBound + UInt64(at - start)
      guard let (record, length) = LogRecord.validated(at: at, end: end) else {
        throw LogRecord.malformed(at: offset)
      }
      try action(transaction, offset, record)
      at += length + (record.code == OperationCode.putExtent ? codec.trailerLength : 0)
    }
  }
}

/// Follows the log of an open file from a given position.
package struct LogFollower {
  private let log: DatabaseFile
  private var replay = LogReplay(verifiesFrames: true)
  /// The offset before which all frames have been read.
  package private(set) var offset: UInt64

  /// - Parameter start: the replay position of a checkpoint.
  package init(_ log: DatabaseFile, from start: ReplayPosition) {
    self.log = log
    offset = start.offset
  }

  /// Passes the operations of the transactions that end before `position` to `apply`, after
  /// verifying each frame once more. `position` must have been flushed.
  ///
  /// Throws `outOfSpace` if the log had to restart after a gap beyond `offset`; and errors of
  /// `apply`.
  package mutating func advance(through position: CommitPosition, apply: ReplayAction) throws(StorageError) {
    guard log.progress.isBeyondGap(offset) else {
      throw StorageError(.outOfSpace, "the disk is full")
    }
    guard position.offset > offset else { return }
    try replay.apply(view: log.view, from: offset, to: position.offset, apply)
    offset = position.offset
  }
}
