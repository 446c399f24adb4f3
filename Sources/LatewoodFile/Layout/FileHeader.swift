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
    package static let cipherSuite = 64
    package static let checksum = 4088
  }

  /// `LATEWOOD` in ASCII, as a little-endian number.
  static let magic: UInt64 = 0x444F_4F57_4554_414C
  package static let formatVersion: UInt32 = 1
  /// The bit of *required features* of an encrypted file.
  static let encryptedFeature: UInt32 = 1
  /// The bits of *required features* that this reader knows.
  static let knownFeatures = encryptedFeature

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
  /// The ciphers of an encrypted file; nil for any other.
  package let suite: CipherSuite?
  /// Seals and opens the units of this file. The codec of an encrypted file needs its cipher first.
  private(set) package var codec: UnitCodec

  package init(
    fileID: (first: UInt64, last: UInt64), databaseID: DatabaseID, created: UInt64,
    suite: CipherSuite? = nil
  ) {
    self.init(
      fileID, databaseID, created,
      requiredFeatures: suite == nil ? 0 : FileHeader.encryptedFeature, optionalFeatures: 0, suite)
  }

  /// Lets the codec encrypt and decrypt. The caller keeps the cipher as long as the header.
  mutating func unlock(with cipher: FileCipher) { codec = codec.encrypted(by: cipher) }

  private init(
    _ id: (first: UInt64, last: UInt64), _ databaseID: DatabaseID, _ created: UInt64,
    requiredFeatures: UInt32, optionalFeatures: UInt32, _ suite: CipherSuite?
  ) {
    self.suite = suite
    self.databaseID = databaseID
    idFirst = id.first
    idLast = id.last
    self.created = created
    self.requiredFeatures = requiredFeatures
    self.optionalFeatures = optionalFeatures
    codec = withUnsafeBytes(of: (id.first.littleEndian, id.last.littleEndian)) { UnitCodec(fileID: $0) }
  }

  /// Writes all 4 KiB of the header.
  package func encode(into target: UnsafeMutableRawBufferPointer) {
    precondition(target.count >= FileLayout.headerLength)
    guard let base = target.baseAddress else { return }
    // SAFETY: every offset is below the 4096 bytes that the precondition requires.
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
    base.set(suite?.rawValue ?? 0, at: Offset.cipherSuite)
    UnitCodec.sealHeader(base)
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
      guard bytes.count >= start + FileLayout.headerLength, UnitCodec.isHeaderSound(base) else { continue }
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
    let suite = required & encryptedFeature == 0 ? nil : CipherSuite(rawValue: base.u8(Offset.cipherSuite))
    guard required & encryptedFeature == 0 || suite != nil else {
      throw StorageError(.tooNew, "the file is encrypted with unknown ciphers: use a newer program")
    }
    return FileHeader(
      (base.u64(Offset.fileID), base.u64(Offset.fileID + 8)),
      DatabaseID(first: base.u64(Offset.databaseID), last: base.u64(Offset.databaseID + 8)),
      base.u64(Offset.created),
      requiredFeatures: required, optionalFeatures: base.u32(Offset.optionalFeatures), suite)
  }
}

/// The identity of a database, regardless of the file that it is in.
package struct DatabaseID: Sendable, Hashable {
  package var first: UInt64
  package var last: UInt64

  package init(first: UInt64, last: UInt64) {
    self.first = first
    self.last = last
  }
}
