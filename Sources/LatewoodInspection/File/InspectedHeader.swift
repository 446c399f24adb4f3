import LatewoodBytes
import LatewoodFile

/// The two copies of the header, with their contents and faults.
package struct InspectedHeader {
  /// The header in the first intact copy; nil if there is none.
  package private(set) var header: FileHeader?
  /// The faults of the two copies; nil for a copy that is intact.
  package private(set) var faults: [StorageError?] = []
  /// Opens the units of the file. Without an intact header, the file id is read from a damaged
  /// copy, if a slot confirms it.
  package private(set) var codec: UnitCodec
  /// The unverified contents of damaged copies, used if no copy is intact.
  private(set) var unverified: [FileHeader] = []

  private static let length = FileLayout.headerLength
  private static let magic = Array("LATEWOOD".utf8)

  /// Throws `emptyFile`, `notADatabase`, `tooNew`, and the errors of a key. Damage is not thrown.
  ///
  /// - Parameters:
  ///   - key: the key of an encrypted file. It is not needed without an intact header.
  ///   - needsKey: whether to refuse an encrypted file without a key.
  ///   - needsMagic: whether to refuse a file if neither copy identifies it as a database.
  init(
    _ reader: FileReader, key: EncryptionKey? = nil, needsKey: Bool = true, needsMagic: Bool = true
  ) throws(StorageError) {
    if reader.size == 0 { throw StorageError(.emptyFile, "the file is empty") }
    let bytes = try reader.some(at: 0, count: Int(FileLayout.logStart))
    var sawMagic = false
    for copy in 0..<2 {
      let start = copy * Self.length
      // The bytes for one copy alone, with zeros in place of the other.
      var alone = [UInt8](repeating: 0, count: Self.length * 2)
      if bytes.count > start {
        alone.replaceSubrange(
          start..<min(bytes.count, start + Self.length),
          with: bytes[start..<min(bytes.count, start + Self.length)])
      }
      do throws(StorageError) {
        let found = try Self.decode(alone)
        faults.append(nil)
        if header == nil { header = found }
      } catch {
        if error.kind == .tooNew { throw error }
        faults.append(.damaged(at: UInt64(start), "a copy of the header is damaged"))
      }
      let hasMagic = alone[start..<start + 8].elementsEqual(Self.magic)
      sawMagic = sawMagic || hasMagic
      unverified.append(Self.unverified(alone, at: start))
    }
    if let found = header {
      let unlocked = try reader.unlock(found, by: key, needsKey: needsKey)
      header = unlocked
      codec = unlocked.codec
      return
    }
    guard sawMagic || !needsMagic else {
      throw StorageError(.notADatabase, "the file is not a Latewood database")
    }
    codec = unverified[0].codec
    for candidate in unverified where try UnitReader(reader: reader, codec: candidate.codec).hasSlot() {
      codec = candidate.codec
      break
    }
  }

  private static func decode(_ bytes: [UInt8]) throws(StorageError) -> FileHeader {
    try bytes.withStart { start, count throws(StorageError) in
      try FileHeader.decode(from: UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  /// Returns the contents of a damaged copy of the header.
  private static func unverified(_ bytes: [UInt8], at start: Int) -> FileHeader {
    bytes.withUnsafeBytes { all in
      let copy = UnsafeRawBufferPointer(rebasing: all[start..<start + length])
      func word(_ at: Int) -> UInt64 { copy.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian }
      return FileHeader(
        fileID: (word(FileHeader.Offset.fileID), word(FileHeader.Offset.fileID + 8)),
        databaseID: DatabaseID(
          first: word(FileHeader.Offset.databaseID), last: word(FileHeader.Offset.databaseID + 8)),
        created: word(FileHeader.Offset.created))
    }
  }
}

extension UnitReader {
  /// Returns whether a root slot matches its checksum.
  func hasSlot() throws(StorageError) -> Bool {
    for index in 0..<2 {
      if case .success = try slot(index) { return true }
    }
    return false
  }
}
