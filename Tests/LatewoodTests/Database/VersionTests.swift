import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import Testing

@testable import Latewood

/// A file of an unknown version is refused and not changed. The error names the version and gives
/// advice.
@Suite struct VersionTests {
  private let directory: TemporaryDirectory
  private let sound: [UInt8]

  init() throws {
    directory = try TemporaryDirectory()
    sound = try Repository.read("Tests/golden/documents.latewood")
  }

  /// Returns the golden file of documents with another number in both copies of its header.
  private func file(with number: UInt32, at offset: Int) -> [UInt8] {
    var bytes = sound
    bytes.withUnsafeMutableBytes { bytes in
      for copy in 0..<2 {
        let header = UnsafeMutableRawBufferPointer(
          rebasing: bytes[(copy * FileLayout.headerLength)...].prefix(FileLayout.headerLength))
        header.storeBytes(of: number.littleEndian, toByteOffset: offset, as: UInt32.self)
        let checksum = XXH64.hash(
          UnsafeRawBufferPointer(rebasing: header[..<FileHeader.Offset.checksum]), seed: 0)
        header.storeBytes(
          of: checksum.littleEndian, toByteOffset: FileHeader.Offset.checksum, as: UInt64.self)
      }
    }
    return bytes
  }

  private func refused(_ bytes: [UInt8], _ code: DatabaseError.Code, _ words: String...) throws {
    try Repository.write(bytes, to: directory.file)
    for mode in [Database.OpenMode.openOrCreate, .openExisting, .readOnly] {
      let error = refusal(code) { _ = try Database.open(at: directory.file, mode: mode) }
      let text = try #require(error).description
      for word in words { #expect(text.contains(word), "\(text)") }
      #expect(error?.path == directory.file)
    }
    let (mine, theirs) = (directory.file, directory.path + "/other.latewood")
    refusal(code) { try Database.copy(from: mine, to: theirs) }
    #expect(try Repository.read(FileVolume(), mine) == bytes)
    #expect(try !Database.exists(at: theirs))
  }

  @Test func `a later file version is reported`() throws {
    let next = FileHeader.formatVersion + 1
    for version in [next, next + 1, .max] {
      try refused(
        file(with: version, at: FileHeader.Offset.formatVersion), .tooNew, "version \(version)",
        "later than \(FileHeader.formatVersion)", "newer")
    }
    try refused(file(with: 1 << 31, at: FileHeader.Offset.requiredFeatures), .tooNew, "features", "newer")
  }

  @Test func `version 0 is refused as invalid`() throws {
    try refused(file(with: 0, at: FileHeader.Offset.formatVersion), .corruptData, "0 is not a format version")
  }

  @Test func `a later version of the document format is reported`() throws {
    try Repository.write(sound, to: directory.file)
    let store = try Store.open(at: directory.file)
    try store.put("format", [3], in: store.keyspace("database"))
    try store.close()
    try refused(try Repository.read(FileVolume(), directory.file), .tooNew, "format 3", "newer")
  }

  @Test func `a file of this version is opened and keeps its version`() throws {
    try Repository.write(
      file(with: FileHeader.formatVersion, at: FileHeader.Offset.formatVersion), to: directory.file)
    #expect(try Repository.read(FileVolume(), directory.file) == sound)
    let database = try Database.open(at: directory.file)
    #expect(try database.defaultCollection.count == 9)
    try database.close()
  }
}
