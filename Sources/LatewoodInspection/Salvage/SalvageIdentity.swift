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

  package private(set) var codec: UnitCodec
  package var origin: Origin
  /// The id of the file.
  private let fileID: (first: UInt64, last: UInt64)
  /// The cipher of the codec.
  private var cipher: FileCipher?
  /// The ciphers of an encrypted file; nil for any other.
  var suite: CipherSuite? { cipher?.suite }

  /// Creates an identity from the 16 bytes of a file id.
  package init(fileID: [UInt8], origin: Origin = .given) {
    self.fileID = Self.words(of: fileID)
    codec = fileID.withUnsafeBytes { UnitCodec(fileID: $0) }
    self.origin = origin
  }

  /// Reads the id from the header of another file: a backup of the damaged one, or a copy of its
  /// first 16 KiB.
  ///
  /// Throws `damaged`, errors of the key as `InspectedHeader`, and any error of the device.
  ///
  /// - Parameters:
  ///   - key: the key of an encrypted backup.
  ///   - fileID: the 16 bytes of the id of the damaged file, of which the other one then has only
  ///     the key, such as one from before a compaction; nil if the id is the same.
  package init(
    headerOf device: any Device, key: EncryptionKey? = nil, fileID: [UInt8]? = nil
  ) throws(StorageError) {
    let reader = try FileReader(device)
    let header = try InspectedHeader(reader, key: key)
    guard let whole = header.header else {
      throw StorageError.damaged(at: 0, "both copies of the file's header are damaged")
    }
    self.init(whole, cipher: reader.cipher, origin: .given)
    guard let fileID else { return }
    self = SalvageIdentity(fileID: fileID)
    if let unlocked = try DatabaseFile.unlocked(fileID: self.fileID, of: device, whole, by: key) {
      (codec, cipher) = (unlocked.codec, unlocked.cipher)
    }
  }

  private init(_ header: FileHeader, cipher: FileCipher? = nil, origin: Origin) {
    fileID = header.fileID
    codec = header.codec
    self.cipher = cipher
    self.origin = origin
  }

  private static func words(of fileID: [UInt8]) -> (first: UInt64, last: UInt64) {
    func word(_ part: some Sequence<UInt8>) -> UInt64 { part.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
    return (word(fileID.prefix(8)), word(fileID.dropFirst(8).prefix(8)))
  }

  /// Returns this identity with the cipher of an encrypted file, whose key is beside its root
  /// slots; nil if no sound copy of it is there, as in a file that is not encrypted.
  ///
  /// Throws `keyNeeded`, `wrongKey`, the errors of a derivation, and any error of the device.
  func unlocked(in device: any Device, by key: EncryptionKey?) throws(StorageError) -> SalvageIdentity? {
    guard cipher == nil, let found = try DatabaseFile.unlocked(fileID: fileID, of: device, by: key) else {
      return nil
    }
    var identity = self
    (identity.codec, identity.cipher) = (found.codec, found.cipher)
    return identity
  }

  package static func == (left: SalvageIdentity, right: SalvageIdentity) -> Bool {
    left.codec == right.codec && left.origin == right.origin
  }

  /// Reads the id from the file: from an intact copy of its header, or from a damaged one if
  /// structures in the file confirm it.
  ///
  /// Throws `damaged` if it cannot be found, `emptyFile`, `tooNew`, errors of the key as
  /// `InspectedHeader`, and any error of the device.
  static func find(in reader: FileReader, key: EncryptionKey? = nil) throws(StorageError) -> SalvageIdentity {
    let header = try InspectedHeader(reader, key: key, needsMagic: false)
    if let whole = header.header {
      return SalvageIdentity(whole, cipher: reader.cipher, origin: .header)
    }
    for unverified in header.unverified {
      let candidate = SalvageIdentity(unverified, origin: .damagedHeader)
      // A copy of the key confirms the id, too.
      if let unlocked = try candidate.unlocked(in: reader.device, by: key) { return unlocked }
      if try candidate.isConfirmed(by: reader) {
        if key != nil { throw SalvageIdentity.keyIsLost }
        return candidate
      }
    }
    throw StorageError(
      .damaged, "both copies of the file's header are destroyed, and with them the file id", offset: 0)
  }

  /// The error for a key that has nothing to open: the file's own key is not in the file.
  static let keyIsLost = StorageError(
    .damaged, "both copies of the file's key are destroyed, or the file is not encrypted",
    offset: FileLayout.slotOffset(0),
    advice: "If there is a backup of this file, or a copy of its first 16 KiB, give it with --header-of.")

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
