import LatewoodBytes

/// The immutable header at the start of a file: FORMAT.md, section 3.
///
/// The file has two copies, so that a damaged sector does not make it unreadable.
package struct FileHeader: Sendable, Equatable {
  /// The offsets of the fields. On disk.
  package enum Offset {
    package static let magic = 0
    package static let formatVersion = 8
    package static let requiredFeatures = 12
    package static let fileID = 16
    package static let created = 32
    package static let optionalFeatures = 40
    package static let databaseID = 48
    package static let checksum = 4088
  }

  /// `LATEWOOD` in ASCII, as a little-endian number.
  static let magic: UInt64 = 0x444F_4F57_4554_414C
  package static let formatVersion: UInt32 = 1
  /// The bits of *required features* that this reader knows.
  static let knownFeatures: UInt32 = 0

  /// The first and the last 8 bytes of the file id.
  package var fileID: (first: UInt64, last: UInt64) { (idFirst, idLast) }
  private let idFirst: UInt64
  private let idLast: UInt64
  /// The id of the database, the same before and after a compaction and in its backups.
  package let databaseID: DatabaseID
  package let requiredFeatures: UInt32
  package let optionalFeatures: UInt32
  /// Microseconds since 1970-01-01 00:00 UTC.
  package let created: UInt64
  /// The seed of this file's checksums: FORMAT.md, section 2.
  package let seed: UInt64

  package init(fileID: (first: UInt64, last: UInt64), databaseID: DatabaseID, created: UInt64) {
    self.init(fileID, databaseID, created, requiredFeatures: 0, optionalFeatures: 0)
  }

  private init(
    _ id: (first: UInt64, last: UInt64), _ databaseID: DatabaseID, _ created: UInt64,
    requiredFeatures: UInt32, optionalFeatures: UInt32
  ) {
    self.databaseID = databaseID
    idFirst = id.first
    idLast = id.last
    self.created = created
    self.requiredFeatures = requiredFeatures
    self.optionalFeatures = optionalFeatures
    seed = withUnsafeBytes(of: (id.first.littleEndian, id.last.littleEndian)) { XXH64.hash($0, seed: 0) }
  }

  /// Writes all 4 KiB of the header.
  package func encode(into target: UnsafeMutableRawBufferPointer) {
    precondition(target.count >= FileLayout.headerLength)
    guard let base = target.baseAddress else { return }
    // SAFETY: every offset is below the 4096 bytes that the precondition asks for.
    base.initializeMemory(as: UInt8.self, repeating: 0, count: FileLayout.headerLength)
    base.set(FileHeader.magic, at: Offset.magic)
    base.set(FileHeader.formatVersion, at: Offset.formatVersion)
    base.set(requiredFeatures, at: Offset.requiredFeatures)
    base.set(idFirst, at: Offset.fileID)
    base.set(idLast, at: Offset.fileID + 8)
    base.set(created, at: Offset.created)
    base.set(optionalFeatures, at: Offset.optionalFeatures)
    base.set(databaseID.first, at: Offset.databaseID)
    base.set(databaseID.last, at: Offset.databaseID + 8)
    base.set(XXH64.hash(base, Offset.checksum, seed: 0), at: Offset.checksum)
  }

  /// Reads the header from the first 8 KiB of a file, or less if the file is shorter.
  ///
  /// Throws `notADatabase`; `damaged` if neither copy is intact; `tooNew`.
  package static func decode(from bytes: UnsafeRawBufferPointer) throws(StorageError) -> FileHeader {
    var sawMagic = false
    for copy in 0..<2 {
      let start = copy * FileLayout.headerLength
      guard bytes.count >= start + 8, let base = bytes.baseAddress.map({ $0 + start }) else { continue }
      guard base.u64(Offset.magic) == magic else { continue }
      sawMagic = true
      // SAFETY: the copy is read only if all of its 4096 bytes are present.
      guard bytes.count >= start + FileLayout.headerLength,
        XXH64.hash(base, Offset.checksum, seed: 0) == base.u64(Offset.checksum)
      else { continue }
      return try fields(of: base)
    }
    if sawMagic {
      throw StorageError.damaged(at: 0, "both copies of the file's header are damaged")
    }
    throw StorageError(.notADatabase, "the file is not a Latewood database")
  }

  private static func fields(of base: UnsafeRawPointer) throws(StorageError) -> FileHeader {
    let version = base.u32(Offset.formatVersion)
    guard version <= formatVersion else {
      throw StorageError(
        .tooNew, "the file has format version \(version), later than \(formatVersion): use a newer program")
    }
    guard version == formatVersion else {
      throw StorageError.damaged(at: UInt64(Offset.formatVersion), "\(version) is not a format version")
    }
    let required = base.u32(Offset.requiredFeatures)
    guard required & ~knownFeatures == 0 else {
      throw StorageError(.tooNew, "the file uses features that this program does not know: use a newer one")
    }
    return FileHeader(
      (base.u64(Offset.fileID), base.u64(Offset.fileID + 8)),
      DatabaseID(first: base.u64(Offset.databaseID), last: base.u64(Offset.databaseID + 8)),
      base.u64(Offset.created),
      requiredFeatures: required, optionalFeatures: base.u32(Offset.optionalFeatures))
  }
}

/// Identifies a database, whichever file it is in.
package struct DatabaseID: Sendable, Hashable {
  package var first: UInt64
  package var last: UInt64

  package init(first: UInt64, last: UInt64) {
    self.first = first
    self.last = last
  }
}

/// One of the two slots that name the newest checkpoint: FORMAT.md, section 4.
///
/// The slots are the only bytes of a file that are ever overwritten, and never both at once: slot
/// `generation mod 2` is written while the other, one generation older, still names a sound
/// checkpoint.
package struct RootSlot: Sendable, Equatable {
  /// The offsets of the fields. On disk.
  package enum Offset {
    package static let checksum = 0
    package static let generation = 8
    package static let checkpointOffset = 16
    package static let checkpointChecksum = 24
    package static let durableThrough = 32
    package static let transaction = 40
    package static let time = 48
    package static let oldestWhole = 56
  }
  package static let length = 64

  package var generation: UInt64
  /// The offset of a checkpoint frame; 0 if there is none and the log starts at 16384.
  package var checkpointOffset: UInt64 = 0
  package var checkpointChecksum: UInt64 = 0
  package var durableThrough: UInt64 = FileLayout.logStart
  package var transaction: UInt64 = 0
  /// Microseconds since 1970-01-01 00:00 UTC.
  package var time: UInt64
  /// The offset of the oldest checkpoint frame whose tree can still be read; older ones may have
  /// holes. 0 if all trees can be read.
  package var oldestWhole: UInt64 = 0

  package init(generation: UInt64, time: UInt64) {
    self.generation = generation
    self.time = time
  }

  /// The index of the slot that this one belongs in, 0 or 1.
  package var index: Int { Int(generation & 1) }

  /// Writes the slot and the zeros after it: 4 KiB.
  package func encode(into target: UnsafeMutableRawBufferPointer, seed: UInt64) {
    precondition(target.count >= FileLayout.slotBlockLength)
    guard let base = target.baseAddress else { return }
    // SAFETY: every offset is below the 4096 bytes that the precondition asks for.
    base.initializeMemory(as: UInt8.self, repeating: 0, count: FileLayout.slotBlockLength)
    base.set(generation, at: Offset.generation)
    base.set(checkpointOffset, at: Offset.checkpointOffset)
    base.set(checkpointChecksum, at: Offset.checkpointChecksum)
    base.set(durableThrough, at: Offset.durableThrough)
    base.set(transaction, at: Offset.transaction)
    base.set(time, at: Offset.time)
    base.set(oldestWhole, at: Offset.oldestWhole)
    base.set(XXH64.hash(base + 8, RootSlot.length - 8, seed: seed), at: Offset.checksum)
  }

  /// Decodes the slot at `index`. Does not check its checkpoint.
  ///
  /// Throws `damaged` if the checksum, the parity of the generation or a field is wrong.
  package static func decode(
    from bytes: UnsafeRawBufferPointer, index: Int, seed: UInt64
  ) throws(StorageError) -> RootSlot {
    let at = FileLayout.slotOffset(index)
    // SAFETY: all offsets are below the 64 bytes asked for here.
    guard bytes.count >= length, let base = bytes.baseAddress else {
      throw StorageError.damaged(at: at, "the file ends within a root slot")
    }
    guard XXH64.hash(base + 8, length - 8, seed: seed) == base.u64(Offset.checksum) else {
      throw StorageError.damaged(at: at, "a root slot does not match its checksum")
    }
    var slot = RootSlot(generation: base.u64(Offset.generation), time: base.u64(Offset.time))
    slot.checkpointOffset = base.u64(Offset.checkpointOffset)
    slot.checkpointChecksum = base.u64(Offset.checkpointChecksum)
    slot.durableThrough = base.u64(Offset.durableThrough)
    slot.transaction = base.u64(Offset.transaction)
    slot.oldestWhole = base.u64(Offset.oldestWhole)
    guard slot.index == index, slot.oldestWhole <= slot.checkpointOffset,
      slot.checkpointOffset != 0 || slot.checkpointChecksum == 0
    else {
      throw StorageError.damaged(at: at, "a root slot has impossible fields")
    }
    return slot
  }
}

/// The offsets of a file's fixed parts, and the size limits. All of it is on disk: FORMAT.md,
/// sections 1 and 10.
@usableFromInline package enum FileLayout {
  package static let headerLength = 4096
  package static let headerCopyOffset: UInt64 = 4096
  package static let slotBlockLength = 4096
  /// The offset of the first frame.
  @usableFromInline package static let logStart: UInt64 = 16384
  /// Frames start at multiples of this.
  package static let frameAlignment: UInt64 = 8
  /// Nodes start at multiples of this.
  package static let nodeAlignment: UInt64 = 64

  // Computed, so that other modules inline them as constants.
  @inlinable package static var keyLimit: Int { 16384 }
  /// The maximum length of a key prefixed with its keyspace number.
  @inlinable package static var fullKeyLimit: Int { keyLimit + 4 }
  /// A bound of a range may be the successor of the longest key.
  @inlinable package static var boundLimit: Int { fullKeyLimit + 1 }
  /// The maximum length of a value: more than an array can hold on a 32-bit platform.
  @inlinable package static var valueLimit: UInt64 { 2_147_483_648 }
  /// The maximum length of a value that fits into this platform's memory along with its key.
  @inlinable package static var valueLimitHere: UInt64 { min(valueLimit, UInt64(Int.max / 2)) }
  package static let keyspaceNameLimit = 1024
  package static let keyspaceLimit: UInt64 = 4_294_967_294
  package static let nodeLimit = 65535
  package static let fileLimit: UInt64 = 281_474_976_710_656

  package static func slotOffset(_ slot: Int) -> UInt64 { slot == 0 ? 8192 : 12288 }

  /// Rounds an offset up to a multiple of 8; nil on overflow.
  package static func alignedToFrame(_ offset: UInt64) -> UInt64? {
    let (sum, overflow) = offset.addingReportingOverflow(frameAlignment - 1)
    return overflow ? nil : sum & ~(frameAlignment - 1)
  }
}
