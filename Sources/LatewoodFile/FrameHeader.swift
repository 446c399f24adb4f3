import LatewoodBytes

/// The kind of a frame. The raw values are on disk.
package enum FrameKind: UInt8, Sendable, CaseIterable {
  case commit = 1
  case nodes = 2
  case checkpoint = 3
  case seal = 4
}

/// The 56-byte header before every frame's payload: FORMAT.md, section 5.
package struct FrameHeader: Sendable, Equatable {
  /// The offsets of the fields. On disk.
  package enum Offset {
    package static let checksum = 0
    package static let magic = 8
    package static let kind = 12
    package static let flags = 13
    package static let reserved = 14
    package static let ownOffset = 16
    package static let transaction = 24
    package static let previousChecksum = 32
    package static let durableThrough = 40
    package static let payloadLength = 48
    package static let payload = 56
  }
  package static let length = 56
  /// `LWFR` in ASCII, as a little-endian number.
  package static let magic: UInt32 = 0x5246_574C
  /// In the flags of a commit frame: the transaction continues in the next one.
  package static let continuesFlag: UInt8 = 1
  /// In the flags of a seal: the log ends here, regardless of the bytes that follow.
  package static let endsLogFlag: UInt8 = 1

  package var checksum: UInt64 = 0
  package var kind: FrameKind
  package var continues = false
  /// Whether this is the seal at the end of a backup, after which the log does not continue.
  package var endsLog = false
  package var ownOffset: UInt64
  package var transaction: UInt64
  package var previousChecksum: UInt64
  package var durableThrough: UInt64
  package var payloadLength: UInt64

  package init(
    kind: FrameKind, ownOffset: UInt64, transaction: UInt64, previousChecksum: UInt64, durableThrough: UInt64,
    payloadLength: UInt64
  ) {
    self.kind = kind
    self.ownOffset = ownOffset
    self.transaction = transaction
    self.previousChecksum = previousChecksum
    self.durableThrough = durableThrough
    self.payloadLength = payloadLength
  }

  /// The end of the payload; nil if it is beyond the largest possible file.
  package var end: UInt64? {
    let (start, overflow) = ownOffset.addingReportingOverflow(UInt64(FrameHeader.length))
    let (end, overflowToo) = start.addingReportingOverflow(payloadLength)
    return overflow || overflowToo || end > FileLayout.fileLimit ? nil : end
  }

  /// Writes all fields but the checksum to 56 bytes.
  func encodeFields(into target: UnsafeMutableRawPointer) {
    target.set(FrameHeader.magic, at: Offset.magic)
    target.set(kind.rawValue, at: Offset.kind)
    let flags = continues ? FrameHeader.continuesFlag : endsLog ? FrameHeader.endsLogFlag : 0
    target.set(flags, at: Offset.flags)
    target.set(UInt16(0), at: Offset.reserved)
    target.set(ownOffset, at: Offset.ownOffset)
    target.set(transaction, at: Offset.transaction)
    target.set(previousChecksum, at: Offset.previousChecksum)
    target.set(durableThrough, at: Offset.durableThrough)
    target.set(payloadLength, at: Offset.payloadLength)
  }

  /// Writes all fields, including the checksum as it is, to 56 bytes.
  func encodeWithChecksum(into target: UnsafeMutableRawPointer) {
    encodeFields(into: target)
    target.set(checksum, at: Offset.checksum)
  }

  /// Writes the header, computes its checksum over the payload that already follows it, and returns
  /// the checksum.
  func encode(into target: UnsafeMutableRawPointer, seed: UInt64) -> UInt64 {
    encodeFields(into: target)
    let covered = FrameHeader.length - 8 + (kind == .nodes ? 0 : Int(payloadLength))
    let checksum = XXH64.hash(UnsafeRawPointer(target + 8), covered, seed: seed)
    target.set(checksum, at: Offset.checksum)
    return checksum
  }

  /// Decodes a header; nil unless the bytes are a frame header that belongs at `offset`. The
  /// checksum is not verified.
  ///
  /// `source` has 56 bytes.
  package static func decode(from source: UnsafeRawPointer, at offset: UInt64) -> FrameHeader? {
    let flags = source.u8(Offset.flags)
    guard source.u32(Offset.magic) == magic, source.u64(Offset.ownOffset) == offset,
      let kind = FrameKind(rawValue: source.u8(Offset.kind)), source.u16(Offset.reserved) == 0,
      flags == 0 || (kind == .commit && flags == continuesFlag) || (kind == .seal && flags == endsLogFlag)
    else { return nil }
    var header = FrameHeader(
      kind: kind, ownOffset: offset, transaction: source.u64(Offset.transaction),
      previousChecksum: source.u64(Offset.previousChecksum),
      durableThrough: source.u64(Offset.durableThrough),
      payloadLength: source.u64(Offset.payloadLength))
    header.checksum = source.u64(Offset.checksum)
    header.continues = kind == .commit && flags == continuesFlag
    header.endsLog = kind == .seal && flags == endsLogFlag
    return header.isValidForKind ? header : nil
  }

  private var isValidForKind: Bool {
    guard end != nil else { return false }
    switch kind {
    case .commit: return transaction > 0
    case .nodes: return true
    case .checkpoint: return payloadLength == UInt64(CheckpointRecord.length)
    case .seal: return payloadLength == 0
    }
  }

  /// The end of the bytes that must be in the file. The payload of a nodes frame may not be written
  /// yet.
  package var requiredEnd: UInt64? {
    kind == .nodes ? ownOffset + UInt64(FrameHeader.length) : end
  }

  /// Whether the frame at `source` matches the checksum in its header. All bytes up to
  /// `requiredEnd` must be readable.
  func checksumMatches(_ source: UnsafeRawPointer, seed: UInt64) -> Bool {
    let covered = FrameHeader.length - 8 + (kind == .nodes ? 0 : Int(truncatingIfNeeded: payloadLength))
    return XXH64.hash(source + 8, covered, seed: seed) == checksum
  }
}

extension FrameHeader {
  /// The offset at which the next frame of the log starts; nil if it exceeds the largest possible
  /// file.
  package var next: UInt64? { end.flatMap(FileLayout.alignedToFrame) }
}

/// The payload of a checkpoint frame: the root of the tree, and the log position after which
/// commits are not in the tree. FORMAT.md, section 7.
package struct CheckpointRecord: Sendable, Equatable {
  /// The offsets of the fields in the payload. On disk.
  package enum Offset {
    package static let rootOffset = 0
    package static let rootLength = 8
    package static let rootChecksum = 12
    package static let entries = 16
    package static let liveBytes = 24
    package static let rootLevel = 32
    package static let flags = 33
    package static let reserved = 34
    package static let replayOffset = 40
    package static let replayPreviousChecksum = 48
    package static let transaction = 56
    package static let time = 64
    package static let previousCheckpoint = 72
    package static let branch = 80
  }
  package static let length = 88

  /// The root of the tree; nil if the tree is empty.
  package var root: Subtree?
  package var replay: ReplayPosition
  /// The number of the last transaction in the tree.
  package var transaction: UInt64
  /// Microseconds since 1970-01-01 00:00 UTC.
  package var time: UInt64
  /// The offset of the checkpoint frame before this one; 0 if there is none.
  package var previousCheckpoint: UInt64
  /// Whether this is the first checkpoint of a file that a compaction or a copy wrote.
  package var isCompaction: Bool
  /// A random number drawn when a backup is first opened for writing; 0 before that. Two files with
  /// the same id share a log only as long as their branches are equal.
  package var branch: UInt64 = 0

  package init(
    root: Subtree?, replay: ReplayPosition, transaction: UInt64, time: UInt64, previousCheckpoint: UInt64,
    isCompaction: Bool = false
  ) {
    self.isCompaction = isCompaction
    self.root = root
    self.replay = replay
    self.transaction = transaction
    self.time = time
    self.previousCheckpoint = previousCheckpoint
  }

  /// Writes the 88 bytes of the payload.
  package func encode(into target: UnsafeMutableRawPointer) {
    target.initializeMemory(as: UInt8.self, repeating: 0, count: CheckpointRecord.length)
    if let root {
      target.set(root.reference.offset, at: Offset.rootOffset)
      target.set(root.reference.length, at: Offset.rootLength)
      target.set(root.reference.checksum, at: Offset.rootChecksum)
      target.set(root.entries, at: Offset.entries)
      target.set(root.liveBytes, at: Offset.liveBytes)
      target.set(root.level, at: Offset.rootLevel)
    }
    target.set(UInt8(isCompaction ? 1 : 0), at: Offset.flags)
    target.set(replay.offset, at: Offset.replayOffset)
    target.set(replay.previousChecksum, at: Offset.replayPreviousChecksum)
    target.set(transaction, at: Offset.transaction)
    target.set(time, at: Offset.time)
    target.set(previousCheckpoint, at: Offset.previousCheckpoint)
    target.set(branch, at: Offset.branch)
  }

  /// Reads the 88 bytes at `source`, the payload of the frame at `frame` in a file of `fileSize`
  /// bytes.
  ///
  /// Throws `damaged` if the root does not lie within the file, the replay offset is impossible, or
  /// reserved bytes are not zero.
  package static func decode(
    from source: UnsafeRawPointer, frame: UInt64, fileSize: UInt64
  ) throws(StorageError) -> CheckpointRecord {
    var record = CheckpointRecord(
      root: try root(from: source, frame: frame),
      replay: ReplayPosition(
        offset: source.u64(Offset.replayOffset), previousChecksum: source.u64(Offset.replayPreviousChecksum)),
      transaction: source.u64(Offset.transaction), time: source.u64(Offset.time),
      previousCheckpoint: source.u64(Offset.previousCheckpoint),
      isCompaction: source.u8(Offset.flags) == 1)
    record.branch = source.u64(Offset.branch)
    // The level, the flags and the reserved bytes after them are one 64-bit word.
    guard source.u64(Offset.rootLevel) &>> 8 <= 1 else {
      throw StorageError.damaged(at: frame, "a checkpoint has reserved bytes that are not zero")
    }
    guard record.replay.offset % FileLayout.frameAlignment == 0, record.replay.offset >= FileLayout.logStart,
      record.replay.offset <= fileSize
    else {
      throw StorageError.damaged(at: frame, "a checkpoint's replay offset does not lie within the file")
    }
    return record
  }

  private static func root(from source: UnsafeRawPointer, frame: UInt64) throws(StorageError) -> Subtree? {
    let offset = source.u64(Offset.rootOffset)
    let length = source.u32(Offset.rootLength)
    if offset == 0 {
      guard length == 0, source.u64(Offset.entries) == 0 else {
        throw StorageError.damaged(at: frame, "a checkpoint without a root has a nonzero entry count")
      }
      return nil
    }
    // The nodes of a tree are written before the checkpoint that names it.
    guard offset >= FileLayout.logStart, offset % FileLayout.nodeAlignment == 0, length > 0,
      length <= FileLayout.nodeLimit, offset <= frame, UInt64(length) <= frame - offset
    else {
      throw StorageError.damaged(at: frame, "a checkpoint's root does not lie before it in the file")
    }
    return Subtree(
      reference: NodeReference(offset: offset, length: length, checksum: source.u32(Offset.rootChecksum)),
      level: source.u8(Offset.rootLevel), entries: source.u64(Offset.entries),
      liveBytes: source.u64(Offset.liveBytes))
  }
}

/// A position between two frames of the log, from which a walk can continue.
package struct ReplayPosition: Sendable, Equatable {
  package var offset: UInt64
  /// The checksum of the preceding frame; 0 at the start of a file, and where the log restarted
  /// after a gap.
  package var previousChecksum: UInt64

  package init(offset: UInt64, previousChecksum: UInt64) {
    self.offset = offset
    self.previousChecksum = previousChecksum
  }

  /// The start of a file's first frame.
  package static let start = ReplayPosition(offset: FileLayout.logStart, previousChecksum: 0)
}
