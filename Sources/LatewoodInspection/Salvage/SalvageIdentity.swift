import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// The identity that distinguishes the structures of a file from all other bytes: the codec of its
/// units, which follows from the file id.
package struct SalvageIdentity: Sendable, Equatable {
  /// The source of the file id.
  package enum Origin: String, Sendable {
    case header
    /// A damaged header: neither copy is intact, but the id in one copy matches the structures in
    /// the file.
    case damagedHeader
    case given
  }

  package var codec: UnitCodec
  package var origin: Origin

  /// Creates an identity from the 16 bytes of a file id.
  package init(fileID: [UInt8], origin: Origin = .given) {
    codec = fileID.withUnsafeBytes { UnitCodec(fileID: $0) }
    self.origin = origin
  }

  /// Reads the id from the header of another file, a backup of the damaged one.
  package init(headerOf device: any Device) throws(StorageError) {
    let header = try Self.plain(FileReader(device))
    guard let whole = header.header else {
      throw StorageError.damaged(at: 0, "both copies of the file's header are damaged")
    }
    self.init(codec: whole.codec, origin: .given)
  }

  private init(codec: UnitCodec, origin: Origin) {
    self.codec = codec
    self.origin = origin
  }

  /// Reads the id from the file: from an intact copy of its header, or from a damaged one if
  /// structures in the file confirm it.
  ///
  /// Throws `damaged` if it cannot be found, `emptyFile`, `tooNew`, `unsupported` if the file is
  /// encrypted, and any error of the device.
  static func find(in reader: FileReader) throws(StorageError) -> SalvageIdentity {
    let header = try plain(reader, needsMagic: false)
    if let whole = header.header { return SalvageIdentity(codec: whole.codec, origin: .header) }
    for codec in header.unverifiedCodecs {
      let candidate = SalvageIdentity(codec: codec, origin: .damagedHeader)
      if try candidate.isConfirmed(by: reader) { return candidate }
    }
    throw StorageError(
      .damaged, "both copies of the file's header are destroyed, and with them the file id", offset: 0)
  }

  /// Returns the header of a file that is not encrypted.
  private static func plain(
    _ reader: FileReader, needsMagic: Bool = true
  ) throws(StorageError) -> InspectedHeader {
    do throws(StorageError) {
      return try InspectedHeader(reader, key: nil, needsMagic: needsMagic)
    } catch {
      guard error.kind == .keyNeeded else { throw error }
      throw StorageError(
        .unsupported, "the file is encrypted, and a salvage reads only files that are not",
        advice: "Restore a backup. Reads find what is not damaged; `latewood export` writes it out.")
    }
  }

  /// Returns whether anything in the file matches a checksum of this file id.
  func isConfirmed(by reader: FileReader) throws(StorageError) -> Bool {
    let file = UnitReader(reader: reader, codec: codec)
    if try file.hasSlot() { return true }
    var frames = file.soundFrames(from: FileLayout.logStart)
    while let piece = try frames.next() {
      if case .frame = piece { return true }
    }
    return false
  }
}
