import LatewoodBytes
import LatewoodDevice

/// The file of a backup: a byte-for-byte prefix of another file, with separate root slots and a
/// separate end.
///
/// ```
/// first    | header | slots | bytes of the source, to its log's end | end |
/// next     | header | slots | as before ............................. | end | later bytes | end |
///                                                                without the first 56 of them
/// ```
///
/// *End* is a seal that ends the log (FORMAT.md, section 5). Bytes after it have no meaning, so the
/// next part can be written there while the file is still the old backup. The seal replaces the
/// header of one of the source's frames.
///
/// Invariants:
/// 1. Nothing reachable in the file is ever overwritten, apart from the root slots.
/// 2. A slot is written after everything reachable from it is durable, and its replay begins beyond
///    the previous end, so the frame without a header is never read. After a crash at any time, the
///    file is the complete old backup or the complete new one.
/// 3. A backup that was opened for writing contains its own commits. Its log no longer ends in such
///    a seal, and `open` refuses it.
///
/// Thread safety: one thread.
package final class BackupFile {
  static let suffix = ".backing-up"
  private static let pieceLength = 1 << 20

  private let source: DatabaseFile
  private let path: String
  private let lock: any FileLock
  private let device: any Device
  /// The existing backup that this one extends, or nil for a new file.
  private let existing: DatabaseFile?
  private var slotGeneration: UInt64
  /// The offset before which the file has the source's bytes.
  package let start: UInt64
  /// The lowest replay offset that a checkpoint in this backup may have.
  package var leastReplay: UInt64 { existing == nil ? start : start + UInt64(FrameHeader.length) }
  /// Whether this extends an earlier backup.
  package var isIncremental: Bool { existing != nil }
  private var isClosed = false

  private init(
    _ source: DatabaseFile, path: String, lock: any FileLock, device: any Device, existing: DatabaseFile?,
    generation: UInt64, start: UInt64
  ) {
    self.source = source
    self.path = path
    self.lock = lock
    self.device = device
    self.existing = existing
    slotGeneration = generation
    self.start = start
  }

  deinit { close() }

  /// Opens the backup of `source` at `path` to extend it. Begins a new one if the file does not
  /// exist, or is a backup from before a compaction.
  ///
  /// Not in a forked child: the slots of an encrypted backup are sealed by the cipher of `source`,
  /// with the numbers that its parent uses.
  ///
  /// Throws `alreadyExists` unless the existing file is a backup of this database that was never
  /// written to; `lockedByThisProcess`; `lockedByOtherProcess`; and errors of the volume and the
  /// device.
  package static func open(at path: String, of source: DatabaseFile) throws(StorageError) -> BackupFile {
    try source.frames.checkOwner()
    let volume = source.volume
    let path = try volume.resolved(path)
    let lock = try volume.lockForWriting(path)
    do throws(StorageError) {
      if try volume.exists(path), let file = try openExisting(at: path, of: source, lock) { return file }
      return try begin(at: path, of: source, lock)
    } catch {
      lock.unlock()
      throw error
    }
  }

  private static func foreign(_ path: String, _ reason: String) -> StorageError {
    StorageError(.alreadyExists, reason, path: path)
  }

  /// Opens the existing backup; nil if it was made before the database was compacted.
  private static func openExisting(
    at path: String, of source: DatabaseFile, _ lock: any FileLock
  ) throws(StorageError) -> BackupFile? {
    let device = try source.volume.open(path, .readWrite)
    do throws(StorageError) {
      // After a failed sync the cache may hold bytes that never reached the disk.
      device.dropCache(0..<UInt64.max)
      let header = try headerOfBackup(device, path)
      guard header.databaseID == source.header.databaseID else {
        throw foreign(path, "there is another database")
      }
      let file = try unlocked(device, header, of: source, path)
      let mapping = try MappedFile(file.device, covering: try device.size(), cipher: file.cipher)
      let opened = DatabaseFile.Opened(
        device: file.device, header: file.header, mapping: mapping, fileLock: nil, wrap: file.wrap)
      let log = DatabaseFile(opened, on: source.volume, path: path, environment: source.environment)
      guard let end = try log.endOfBackup() else {
        throw foreign(path, "the file there is not a backup, or has been written to since")
      }
      guard file.header == source.header else {
        log.close()
        return nil
      }
      guard end.branch == source.writer.branch, try source.contains(end.last) else {
        throw foreign(path, "the file there is a backup of a state that is not in this database's past")
      }
      return BackupFile(
        source, path: path, lock: lock, device: device, existing: log, generation: end.generation,
        start: end.seal)
    } catch {
      device.close()
      throw error
    }
  }

  private static func unlocked(
    _ device: any Device, _ header: FileHeader, of source: DatabaseFile, _ path: String
  ) throws(StorageError) -> DatabaseFile.Unlocked {
    do throws(StorageError) {
      return try DatabaseFile.unlocked(device, header, source.fileKey, source.environment)
    } catch {
      guard [.keyNeeded, .wrongKey, .notEncrypted].contains(error.kind) else { throw error }
      throw foreign(
        path, "the backup there was made before the database was encrypted or decrypted, or with another key")
    }
  }

  private static func headerOfBackup(_ device: any Device, _ path: String) throws(StorageError) -> FileHeader
  {
    do throws(StorageError) {
      return try DatabaseFile.readHeader(device, path)
    } catch {
      guard [.emptyFile, .notADatabase, .damaged, .tooNew].contains(error.kind) else { throw error }
      throw foreign(path, "the file there is not a backup")
    }
  }

  private static func begin(
    at path: String, of source: DatabaseFile, _ lock: any FileLock
  ) throws(StorageError) -> BackupFile {
    let unfinished = SideName.path(path, suffix)
    try source.volume.removeIfPresent(unfinished)
    // The next backup must be able to write to this file.
    let permissions = try source.device.permissions() | DatabaseFile.ownerWrites
    let device = try source.volume.open(unfinished, .createExclusive(permissions: permissions))
    let file = BackupFile(
      source, path: path, lock: lock, device: device, existing: nil, generation: 1, start: FileLayout.logStart
    )
    do throws(StorageError) {
      try withScratch(Int(FileLayout.logStart)) { block throws(StorageError) in
        DatabaseFile.encodeEmptyFile(
          source.header, into: block, time: source.environment.now(), wrap: source.slots.wrap)
        try device.write(UnsafeRawBufferPointer(block), at: 0)
      }
      return file
    } catch {
      file.discard()
      throw error
    }
  }

  // MARK: Writing

  /// Copies the source's bytes before `end`, and ends the file there.
  ///
  /// - Parameters:
  ///   - transaction: number of the newest transaction in the source's log before `end`.
  ///   - step: called after each piece with its length.
  package func write(
    through end: ReplayPosition, transaction: UInt64, step: (UInt64) throws(StorageError) -> Void
  ) throws(StorageError) {
    try eachPiece(through: end.offset) { bytes, offset throws(StorageError) in
      // Zeros are not written, so that holes stay holes.
      if !bytes.allSatisfy({ $0 == 0 }) { try device.write(bytes, at: offset) }
      try step(UInt64(bytes.count))
    }
    var seal = FrameHeader(
      kind: .seal, ownOffset: end.offset, transaction: transaction, previousChecksum: end.previousChecksum,
      durableThrough: FileLayout.logStart, payloadLength: 0)
    seal.endsLog = true
    try withScratch(FrameHeader.length) { block throws(StorageError) in
      guard let base = block.baseAddress else { return }
      _ = seal.encode(into: base, codec: source.header.codec)
      try device.write(UnsafeRawBufferPointer(block), at: end.offset)
    }
    try device.sync()
  }

  /// Reads the copied bytes back from the disk and compares them with the source.
  package func verifyCopy(through end: UInt64, step: (UInt64) throws(StorageError) -> Void)
    throws(StorageError)
  {
    device.dropCache(0..<UInt64.max)
    try withScratch(BackupFile.pieceLength) { block throws(StorageError) in
      try eachPiece(through: end) { bytes, offset throws(StorageError) in
        let target = UnsafeMutableRawBufferPointer(rebasing: block[..<bytes.count])
        let count = try device.read(into: target, at: offset)
        guard count == bytes.count, target.elementsEqual(bytes) || bytes.allSatisfy({ $0 == 0 }) else {
          throw StorageError(
            .inputOutput, "the backup reads back differently from what was written: use another disk",
            path: path,
            offset: offset)
        }
        try step(UInt64(bytes.count))
      }
    }
  }

  /// Passes the source's bytes from `leastReplay` to `end` to `body`, in pieces that end at
  /// multiples of `pieceLength`.
  private func eachPiece(
    through end: UInt64, _ body: (UnsafeRawBufferPointer, UInt64) throws(StorageError) -> Void
  ) throws(StorageError) {
    try withScratch(BackupFile.pieceLength) { block throws(StorageError) in
      let view = source.view
      var at = leastReplay
      while at < end {
        let length = UInt64(BackupFile.pieceLength)
        let next = min(end, (at / length + 1) * length)
        let piece = UnsafeMutableRawBufferPointer(rebasing: block[..<Int(next - at)])
        try view.read(into: piece, at: at)
        try body(UnsafeRawBufferPointer(piece), at)
        at = next
      }
    }
  }

  /// Publishes the copied bytes as the backup: writes root slots that refer to the checkpoint and,
  /// for a new file, renames it to its path.
  ///
  /// - Parameters:
  ///   - checkpoint: offset of a copied checkpoint frame whose replay begins at or after
  ///     `leastReplay`.
  ///   - end: the end of the source's bytes.
  package func publish(checkpoint: UInt64, end: UInt64) throws(StorageError) {
    try source.frames.checkOwner()
    var copied = source.view
    copied.limit = end
    guard let (record, frame) = try source.checkpoint(at: checkpoint, in: copied),
      record.replay.offset >= leastReplay
    else { throw StorageError.damaged(at: checkpoint, "the checkpoint at this offset is not sound") }
    // A new file gets both slots together, because it is not yet at its path. An existing one gets
    // both, one after the other, if the key that opens the database has changed.
    let writesBoth = existing.map { $0.slots.wrap != source.slots.wrap } ?? true
    for number in 0..<(writesBoth ? 2 : 1) {
      if isIncremental, number > 0 { try device.sync() }
      slotGeneration += 1
      var slot = RootSlot(generation: slotGeneration, time: source.environment.now())
      slot.checkpointOffset = checkpoint
      slot.checkpointChecksum = frame.checksum
      slot.transaction = record.transaction
      slot.durableThrough = end + UInt64(FrameHeader.length)
      slot.oldestWhole = checkpoint
      try withScratch(FileLayout.slotBlockLength) { block throws(StorageError) in
        slot.encode(into: block, codec: source.header.codec, wrap: source.slots.wrap)
        try device.write(UnsafeRawBufferPointer(block), at: FileLayout.slotOffset(slot.index))
      }
    }
    try device.sync()
    guard !isIncremental else { return }
    try source.volume.rename(SideName.path(path, BackupFile.suffix), to: path)
    try source.volume.syncDirectory(containing: path)
  }

  /// The length of the file, in bytes.
  package func size() throws(StorageError) -> UInt64 { try device.size() }

  /// Closes the file and releases its lock. Idempotent.
  package func close() {
    if isClosed { return }
    isClosed = true
    existing?.close()
    device.close()
    lock.unlock()
  }

  /// Closes the file, and removes it if it is not yet a backup. Best effort.
  package func discard() {
    if isClosed { return }
    if !isIncremental {
      DatabaseFile.removeLeftover(SideName.path(path, BackupFile.suffix), on: source.volume)
    }
    close()
  }
}

/// The position at which an existing backup is extended.
private struct BackupEnd {
  /// The offset of the seal that the backup ends in.
  var seal: UInt64
  /// The frame before the seal.
  var last: FrameHeader
  var branch: UInt64
  /// The generation of the newest root slot.
  var generation: UInt64
}

extension DatabaseFile {
  /// Finds the end of the backup; nil if the file does not end like a backup.
  fileprivate func endOfBackup() throws(StorageError) -> BackupEnd? {
    var disk = DiskComparison(of: device, codec: header.codec)
    let found = try findNewest(&disk)
    guard found.reader.hasEnded, let seal = found.reader.lastFrame else { return nil }
    var reader = LogReader(
      view: found.reader.view, below: seal.ownOffset, from: found.choice.replay,
      lastTransaction: found.choice.transaction)
    try reader.finish()
    guard let last = reader.lastFrame else { return nil }
    return BackupEnd(
      seal: seal.ownOffset, last: last, branch: found.choice.checkpoint?.record.branch ?? 0,
      generation: try slots.read().first?.generation ?? found.choice.slot.generation)
  }

  /// Returns whether this file contains exactly this frame, or contained it before its blocks were
  /// punched. Checksums are chained, so if the frames are equal, the logs up to them are equal,
  /// too.
  fileprivate func contains(_ frame: FrameHeader) throws(StorageError) -> Bool {
    let (view, end) = (view, frame.ownOffset + UInt64(FrameHeader.length))
    guard end <= view.limit else { return false }
    if try ViewedBytes(view).frame(at: frame.ownOffset) == frame { return true }
    // The frame may span several blocks, some of which were punched.
    var expected = [UInt8](repeating: 0, count: FrameHeader.length)
    expected.withUnsafeMutableBytes { bytes in bytes.baseAddress.map(frame.encodeWithChecksum) }
    var found = [UInt8](repeating: 0, count: FrameHeader.length)
    try found.withUnsafeMutableBytes { bytes in
      Result { () throws(StorageError) in try view.read(into: bytes, at: frame.ownOffset) }
    }.get()
    var start = frame.ownOffset
    while start < end {
      let next = min(end, (start / device.blockLength + 1) * device.blockLength)
      let part = Int(start - frame.ownOffset)..<Int(next - frame.ownOffset)
      guard found[part] == expected[part] || found[part].allSatisfy({ $0 == 0 }) else { return false }
      start = next
    }
    return true
  }
}
