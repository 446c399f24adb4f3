import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// The identity that distinguishes the structures of a file from all other bytes: the seed of its
/// checksums, which follows from the file id.
package struct SalvageIdentity: Sendable, Equatable {
  /// The source of the file id.
  package enum Origin: String, Sendable {
    case header
    /// A damaged header: neither copy is intact, but the id in one copy matches the structures in
    /// the file.
    case damagedHeader
    case given
  }

  package var seed: UInt64
  package var origin: Origin

  /// Creates an identity from the 16 bytes of a file id.
  package init(fileID: [UInt8], origin: Origin = .given) {
    seed = fileID.withUnsafeBytes { XXH64.hash($0, seed: 0) }
    self.origin = origin
  }

  /// Reads the id from the header of another file, a backup of the damaged one.
  package init(headerOf device: any Device) throws(StorageError) {
    let header = try InspectedHeader(FileReader(device))
    guard let whole = header.header else {
      throw StorageError.damaged(at: 0, "both copies of the file's header are damaged")
    }
    self.init(seed: whole.seed, origin: .given)
  }

  private init(seed: UInt64, origin: Origin) {
    self.seed = seed
    self.origin = origin
  }

  /// Reads the id from the file: from an intact copy of its header, or from a damaged one if
  /// structures in the file confirm it.
  ///
  /// Throws `damaged` if it cannot be found, `emptyFile`, `tooNew`, and any error of the device.
  static func find(in reader: FileReader) throws(StorageError) -> SalvageIdentity {
    let header = try InspectedHeader(reader, needsMagic: false)
    if let whole = header.header { return SalvageIdentity(seed: whole.seed, origin: .header) }
    for seed in header.unverifiedSeeds {
      let candidate = SalvageIdentity(seed: seed, origin: .damagedHeader)
      if try candidate.isConfirmed(by: reader) { return candidate }
    }
    throw StorageError(
      .damaged, "both copies of the file's header are destroyed, and with them the file id", offset: 0)
  }

  /// Returns whether anything in the file has a checksum with this seed.
  func isConfirmed(by reader: FileReader) throws(StorageError) -> Bool {
    let file = FrameReader(reader: reader, seed: seed)
    if try file.hasSlot() { return true }
    var frames = file.soundFrames(from: FileLayout.logStart)
    while let piece = try frames.next() {
      if case .frame = piece { return true }
    }
    return false
  }
}
