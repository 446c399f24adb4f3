import LatewoodBytes
import LatewoodFile

/// The two copies of the header: what they say, and which of them is whole.
package struct InspectedHeader {
  /// Of the first copy that is whole; nil if none is.
  package private(set) var header: FileHeader?
  /// Nil for a copy that is whole. Two of them.
  package private(set) var faults: [Fault?] = []
  /// What the checksums of the file start from. Without a whole header it is what the damaged
  /// copies say, if a slot or frame bears it out.
  package private(set) var seed: UInt64
  /// What the copies say that are not whole, right or wrong; of use where none is.
  private(set) var unprovedSeeds: [UInt64] = []

  private static let length = FileLayout.headerLength
  private static let magic = Array("LATEWOOD".utf8)

  /// Throws `emptyFile`, `notADatabase`, `tooNew`. Damage is no error here.
  ///
  /// - Parameter needsMagic: whether a file in which neither copy says that it is a database is
  ///   none.
  init(_ reader: FileReader, needsMagic: Bool = true) throws(Fault) {
    if reader.size == 0 { throw Fault(.emptyFile, "the file is empty") }
    let bytes = Array(try reader.some(at: 0, count: Int(FileLayout.logStart)))
    var sawMagic = false
    for copy in 0..<2 {
      let start = copy * Self.length
      // Cut off behind the copy, and nothing but zeros in place of the other.
      var alone = [UInt8](repeating: 0, count: Self.length * 2)
      if bytes.count > start {
        alone.replaceSubrange(
          start..<min(bytes.count, start + Self.length),
          with: bytes[start..<min(bytes.count, start + Self.length)])
      }
      do throws(Fault) {
        let found = try Self.decode(alone)
        faults.append(nil)
        if header == nil { header = found }
      } catch {
        if error.kind == .tooNew { throw error }
        faults.append(.damaged(at: UInt64(start), "a copy of the header is damaged"))
      }
      let hasMagic = alone[start..<start + 8].elementsEqual(Self.magic)
      sawMagic = sawMagic || hasMagic
      unprovedSeeds.append(Self.unproved(alone, at: start).seed)
    }
    if let header {
      seed = header.seed
      return
    }
    guard sawMagic || !needsMagic else { throw Fault(.notADatabase, "the file is not a Latewood database") }
    seed = unprovedSeeds[0]
    for candidate in unprovedSeeds where try FrameReader(reader: reader, seed: candidate).hasSlot() {
      seed = candidate
      break
    }
  }

  private static func decode(_ bytes: [UInt8]) throws(Fault) -> FileHeader {
    try bytes.withStart { start, count throws(Fault) in
      try FileHeader.decode(from: UnsafeRawBufferPointer(start: start, count: count))
    }
  }

  /// What stands in a copy of the header that is not whole.
  private static func unproved(_ bytes: [UInt8], at start: Int) -> FileHeader {
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

extension FrameReader {
  /// Whether a root slot has a checksum that starts from this seed.
  func hasSlot() throws(Fault) -> Bool {
    for place in 0..<2 {
      if case .success = try slot(place) { return true }
    }
    return false
  }
}
