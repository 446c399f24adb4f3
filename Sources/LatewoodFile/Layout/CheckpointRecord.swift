import LatewoodBytes

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
  /// The length without anchors.
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
  /// The anchors that an encrypted file has given, oldest first; none in any other file.
  package var anchors: [StateAnchor] = []

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

  /// The length of the payload, without the trailer of an encrypted frame.
  package var encodedLength: Int { CheckpointRecord.length + anchors.count * StateAnchor.length }

  /// Returns whether a checkpoint can have a payload of this length, without its trailer.
  static func allows(length: UInt64, isEncrypted: Bool) -> Bool {
    let least = UInt64(CheckpointRecord.length)
    guard isEncrypted, length > least else { return length == least }
    let more = length - least
    return more % UInt64(StateAnchor.length) == 0 && more <= UInt64(StateAnchor.limit * StateAnchor.length)
  }

  /// Writes the payload, which has `encodedLength` bytes.
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
    for (index, anchor) in anchors.enumerated() {
      anchor.encode(into: target + (CheckpointRecord.length + index * StateAnchor.length))
    }
  }

  /// Reads the payload at `source`, of the frame at `frame` in a file of `fileSize` bytes.
  ///
  /// Throws `damaged` if the root does not lie within the file, the replay offset is impossible, or
  /// reserved bytes are not zero.
  ///
  /// - Parameter length: the length of the payload without its trailer, as `allows` accepts it.
  package static func decode(
    from source: UnsafeRawPointer, length: Int = CheckpointRecord.length, frame: UInt64, fileSize: UInt64
  ) throws(StorageError) -> CheckpointRecord {
    var record = CheckpointRecord(
      root: try root(from: source, frame: frame),
      replay: ReplayPosition(
        offset: source.u64(Offset.replayOffset), previousChecksum: source.u64(Offset.replayPreviousChecksum)),
      transaction: source.u64(Offset.transaction), time: source.u64(Offset.time),
      previousCheckpoint: source.u64(Offset.previousCheckpoint),
      isCompaction: source.u8(Offset.flags) == 1)
    record.branch = source.u64(Offset.branch)
    for start in stride(from: CheckpointRecord.length, to: length, by: StateAnchor.length) {
      record.anchors.append(StateAnchor(at: source + start))
    }
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
    // The nodes of a tree are written before the checkpoint that refers to it.
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
