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
  /// The cipher of the codec.
  private let cipher: FileCipher?
  /// The ciphers of an encrypted file; nil for any other.
  var suite: CipherSuite? { cipher?.suite }

  /// Creates an identity from the 16 bytes of a file id.
  package init(fileID: [UInt8], origin: Origin = .given) {
    self.init(codec: fileID.withUnsafeBytes { UnitCodec(fileID: $0) }, origin: origin)
  }

  /// Reads the id from the header of another file, a backup of the damaged one.
  ///
  /// Throws `damaged`, errors of the key as `InspectedHeader`, and any error of the device.
  ///
  /// - Parameter key: the key of an encrypted backup.
  package init(headerOf device: any Device, key: EncryptionKey? = nil) throws(StorageError) {
    let reader = try FileReader(device)
    let header = try InspectedHeader(reader, key: key)
    guard let whole = header.header else {
      throw StorageError.damaged(at: 0, "both copies of the file's header are damaged")
    }
    self.init(codec: whole.codec, cipher: reader.cipher, origin: .given)
  }

  private init(codec: UnitCodec, cipher: FileCipher? = nil, origin: Origin) {
    self.codec = codec
    self.cipher = cipher
    self.origin = origin
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
      return SalvageIdentity(codec: whole.codec, cipher: reader.cipher, origin: .header)
    }
    for codec in header.unverifiedCodecs {
      let candidate = SalvageIdentity(codec: codec, origin: .damagedHeader)
      if try candidate.isConfirmed(by: reader) { return candidate }
    }
    throw StorageError(
      .damaged, "both copies of the file's header are destroyed, and with them the file id", offset: 0)
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
