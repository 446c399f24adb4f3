import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile

/// A database file that is read only through the codecs of its format, without a store, a cache or
/// recovery in between.
///
/// ```
/// header, copy -> slots -> checkpoint -> tree
///                              \-> log from the replay offset on -> bytes after it
/// ```
///
/// While it is open, it holds the shared lock of FORMAT.md, section 1. It therefore works alongside
/// a writer, which does not punch holes while the lock is held. It never writes. Damage is not
/// thrown: `faults` lists it, and everything readable is available.
///
/// Use it from one thread at a time.
package final class InspectedFile {
  package let path: String
  package let header: InspectedHeader
  package let units: UnitReader
  package private(set) var slots: [InspectedSlot] = []
  /// The checkpoint of the newest valid slot; nil if the slot does not refer to one.
  package private(set) var checkpoint: FoundCheckpoint?
  package private(set) var log: InspectedLog
  let device: any Device
  private let volume: any Volume

  package var reader: FileReader { units.reader }
  /// The ciphers of an encrypted file; nil for any other.
  package var suite: CipherSuite? { header.header?.suite }
  /// Whether the file is encrypted and the key is missing.
  package var isLocked: Bool { units.codec.isLocked }
  package var size: UInt64 { units.reader.size }

  /// Opens the file at `path` and reads header, slots and log. O(bytes of log that no checkpoint
  /// contains).
  ///
  /// Throws `notADatabase`, `tooNew`, `emptyFile`, `keyNeeded`, `wrongKey`, `notEncrypted`, and any
  /// error of the device.
  ///
  /// - Parameters:
  ///   - key: the key of an encrypted file.
  ///   - needsKey: whether to refuse an encrypted file without a key. Otherwise the file is locked:
  ///     slots, frames and nodes can be found and compared with their checksums, but not what is
  ///     in them.
  ///   - badBlocks: the treatment of blocks that the disk cannot read; those that are read as zeros
  ///     are in `FileReader.unreadable`.
  package init(
    path: String, on volume: any Volume = FileVolume(), key: EncryptionKey? = nil, needsKey: Bool = true,
    badBlocks: FileReader.BadBlocks = .fail
  ) throws(StorageError) {
    self.path = path
    self.volume = volume
    let device = try volume.open(path, .readOnly)
    self.device = device
    do throws(StorageError) {
      try device.lockForReading()
      let reader = try FileReader(device, badBlocks: badBlocks)
      header = try InspectedHeader(reader, key: key, needsKey: needsKey)
      units = UnitReader(reader: reader, codec: header.codec)
      slots = try Self.slots(units, volume, path)
      // A slot is written after the checkpoint that it refers to, so the checkpoint lies below the
      // size that is read now.
      checkpoint = Self.newest(of: slots)?.checkpoint
      log = try InspectedLog(units, from: checkpoint, slots: slots)
    } catch {
      device.close()
      throw Self.named(error, path)
    }
  }

  deinit { device.close() }

  /// Closes the file and releases the lock. Idempotent.
  package func close() { device.close() }

  /// Reads slots and log again.
  package func refresh() throws(StorageError) {
    do throws(StorageError) {
      slots = try Self.slots(units, volume, path)
      checkpoint = Self.newest(of: slots)?.checkpoint
      log = try InspectedLog(units, from: checkpoint, slots: slots)
    } catch {
      throw Self.named(error, path)
    }
  }

  /// The structures that the file has twice, before its first frame.
  package enum FixedPart: Sendable { case header, slot }

  package static func fixedPart(at offset: UInt64) -> FixedPart? {
    offset < FileLayout.slotOffset(0) ? .header : offset < FileLayout.logStart ? .slot : nil
  }

  package func allocatedSize() throws(StorageError) -> UInt64 { try device.allocatedSize() }

  /// Returns whether a process has the database open for writing.
  package func hasWriter() throws(StorageError) -> Bool { try volume.isLockedForWriting(path) }

  /// The newest valid slot.
  package var newestSlot: InspectedSlot? { Self.newest(of: slots) }

  /// The fault of the newest checkpoint if the disk cannot read it; nil if it can. The file is then
  /// inspected as of the checkpoint before it.
  package var unreadableCheckpoint: StorageError? {
    guard let slot = slots.compactMap(\.slot).max(by: { $0.generation < $1.generation }) else { return nil }
    let length = UInt64(FrameHeader.length + CheckpointRecord.length)
    guard slot.checkpointOffset != 0, reader.isUnreadable(slot.checkpointOffset, length) else { return nil }
    return StorageError(
      .inputOutput, "the disk cannot read the newest checkpoint", offset: slot.checkpointOffset)
  }

  /// The faults in header, slots and log. The tree is not checked.
  package var faults: [StorageError] {
    var faults = header.faults.compactMap { $0 }
    faults += slots.filter { $0.slot == nil }.compactMap(\.fault)
    // A slot may reach the disk before its checkpoint does, unless the checkpoint is known to have
    // been durable.
    if newestSlot == nil, faults.isEmpty || slots.allSatisfy({ $0.slot != nil }) {
      faults += slots.compactMap(\.fault)
    }
    if let fault = log.fault, newestSlot != nil { faults.append(fault) }
    return faults
  }

  /// Returns the accepted checkpoints that are still complete according to the slot, newest first.
  package func checkpoints() throws(StorageError) -> [FoundCheckpoint] {
    var result: [FoundCheckpoint] = []
    let oldest = newestSlot?.slot?.oldestWhole ?? 0
    var next = checkpoint
    while let found = next {
      result.append(found)
      let previous = found.record.previousCheckpoint
      guard previous >= max(oldest, 1), previous < found.offset else { break }
      next = try units.checkpoint(at: previous)
    }
    return result
  }

  /// Returns the frames of the log starting at the newest checkpoint.
  package func logFrames() -> LogReader<UnitReader> {
    LogReader(
      units, from: log.start, lastTransaction: checkpoint?.record.transaction ?? 0, isTrusting: true)
  }

  /// Returns a scan of the frames in any range of the file.
  package func scan(_ range: Range<UInt64>, isProving: Bool = true) -> FrameScan {
    FrameScan(
      units, in: range.clamped(to: 0..<max(size, FileLayout.logStart)),
      accepting: isProving ? .broken : .unverified)
  }

  private static func newest(of slots: [InspectedSlot]) -> InspectedSlot? {
    slots.filter(\.isValid).max { older, newer in
      guard let older = older.slot, let newer = newer.slot else { return false }
      return newer.isNewer(than: older)
    }
  }

  /// Returns both slots. A slot that is being written during the read is read again.
  private static func slots(
    _ units: UnitReader, _ volume: any Volume, _ path: String
  ) throws(StorageError) -> [InspectedSlot] {
    var pause: UInt64 = 1
    while true {
      try units.reader.refresh()
      var slots: [InspectedSlot] = []
      for index in 0..<2 { slots.append(try InspectedSlot(index: index, units)) }
      try units.reader.refresh()
      if slots.allSatisfy(\.isValid) || pause > 4 { return slots }
      guard try volume.isLockedForWriting(path) else { return slots }
      Monitor.sleep(milliseconds: pause)
      pause *= 2
    }
  }

  private static func named(_ failure: StorageError, _ path: String) -> StorageError {
    var failure = failure
    failure.path = failure.path ?? path
    return failure
  }
}
