import LatewoodBytes
import LatewoodConcurrency
import LatewoodCrypto
import Synchronization

/// Encrypts and decrypts the units of an encrypted file, and authenticates them: FORMAT.md, section
/// 14.
///
/// ```
/// unit    clear bytes | text, encrypted | epoch 16 | number 8 | tag 16
///                                         trailer: 40 bytes
/// ```
///
/// The nonce of a unit consists of the epoch, which is random, and of the number of the unit in it.
/// A cipher draws its epoch when it is made, and counts all units that it encrypts, so no nonce
/// occurs twice, even if writes are lost or repeated, unless an image of the process's memory is
/// resumed twice. The tag covers the id of the file, the kind and the offset of the unit, its clear
/// bytes and its encrypted text. A unit from another place, file or kind is therefore refused.
///
/// Checksums stay where they are in files that are not encrypted, and cover the bytes of the file:
/// damage is found without the key.
///
/// Thread safety: any thread. A forked child must not encrypt: it would use the numbers of its
/// parent again. `FrameWriter.checkOwner`, before everything that writes, ensures that.
package final class FileCipher: Sendable {
  /// The number of bytes that follow the text of a unit.
  package static let trailerLength = 40
  private static let tagOffset = 24
  /// The number of epochs whose keys are remembered. A file has one epoch for each time that it was
  /// opened for writing.
  private static let epochLimit = 1024

  package let suite: CipherSuite
  /// The key of the file, 32 bytes; nil for a reader without it.
  let fileKey: SecretBytes?
  private let idFirst: UInt64
  private let idLast: UInt64
  /// The epoch of the units that this object encrypts.
  private let epoch: Epoch
  private let own: EpochCipher?
  /// The number of units encrypted so far.
  private let count = Atomic<UInt64>(0)
  private let others = Guarded<[Epoch: EpochCipher]>([:])

  /// - Parameters:
  ///   - fileKey: 32 bytes.
  ///   - random: returns random numbers that nobody can predict.
  package init(
    _ suite: CipherSuite, fileKey: SecretBytes, fileID: (first: UInt64, last: UInt64),
    random: () -> UInt64
  ) {
    self.suite = suite
    self.fileKey = fileKey
    (idFirst, idLast) = fileID
    epoch = Epoch(first: random(), last: random())
    own = EpochCipher(suite, fileKey: fileKey, epoch)
  }

  /// Creates a cipher without the key, for readers of what can be read without it: lengths,
  /// checksums and clear bytes. It opens no unit, and nothing may be sealed with it.
  package init(locked suite: CipherSuite) {
    self.suite = suite
    fileKey = nil
    (idFirst, idLast) = (0, 0)
    epoch = Epoch(first: 0, last: 0)
    own = nil
  }

  /// Whether the key is missing.
  var isLocked: Bool { own == nil }

  private func cipher(of epoch: Epoch) -> EpochCipher? {
    guard let fileKey else { return nil }
    if epoch == self.epoch { return own }
    if let known = others.withLock({ $0[epoch] }) { return known }
    let cipher = EpochCipher(suite, fileKey: fileKey, epoch)
    others.withLock { others in
      // Limits the memory that forged epochs can take.
      if others.count >= FileCipher.epochLimit { others.removeAll() }
      others[epoch] = cipher
    }
    return cipher
  }

  /// The part of a unit that is encrypted, and the parts around it.
  struct Layout {
    /// The length of the unit with its trailer, in bytes.
    var length: Int
    /// The number of bytes at the start that are not encrypted. Their first 8 are the checksum.
    var clear: Int
    /// The parts of the text that are separate units: the extents in a commit frame, with their
    /// trailers. They are authenticated with the rest, but encrypted before it.
    var extents: [Range<Int>] = []

    /// The offset of the trailer in the unit.
    var trailer: Int { length - FileCipher.trailerLength }
  }

  /// Encrypts the text of a unit from `plain` to `stored`, which may be the same memory, and writes
  /// the trailer after it. The clear bytes must already be in `stored`.
  func seal(
    _ kind: UnitCodec.Kind, at offset: UInt64, _ plain: UnsafeRawPointer,
    into stored: UnsafeMutableRawPointer, _ layout: Layout
  ) {
    guard let own else { preconditionFailure("a file whose key is missing is only read") }
    let number = count.wrappingAdd(1, ordering: .relaxed).oldValue
    var at = layout.clear
    for extent in layout.extents + [layout.trailer..<layout.length] {
      let part = at..<extent.lowerBound
      // SAFETY: the caller has `length` bytes at both addresses.
      own.apply(
        UnsafeRawBufferPointer(start: plain + at, count: part.count),
        into: UnsafeMutableRawBufferPointer(start: stored + at, count: part.count), unit: number,
        at: UInt64(at - layout.clear))
      at = extent.upperBound
    }
    let trailer = stored + layout.trailer
    trailer.set(epoch.first, at: 0)
    trailer.set(epoch.last, at: 8)
    trailer.set(number, at: 16)
    tag(own.authenticator(ofUnit: number), kind, at: offset, UnsafeRawPointer(stored), layout)
      .write(to: trailer + FileCipher.tagOffset)
  }

  /// Returns the text of an encrypted unit in memory; nil without the key, and if its tag is wrong,
  /// because it was encrypted with another key, for another place, or has been changed.
  func open(
    _ kind: UnitCodec.Kind, at offset: UInt64, _ stored: UnsafeRawPointer, _ layout: Layout
  ) -> UnitText? {
    let trailer = stored + layout.trailer
    guard let text = unprovenText(of: stored, layout) else { return nil }
    let expected = tag(text.cipher.authenticator(ofUnit: text.number), kind, at: offset, stored, layout)
    guard AuthenticationTag(at: trailer + FileCipher.tagOffset) == expected else { return nil }
    return text
  }

  /// Returns the text of a unit that may be damaged, without comparing its tag; nil without the
  /// key. Bytes that are as they were written decrypt correctly if the trailer is, too.
  func unprovenText(of stored: UnsafeRawPointer, _ layout: Layout) -> UnitText? {
    let trailer = stored + layout.trailer
    guard let cipher = cipher(of: Epoch(first: trailer.u64(0), last: trailer.u64(8))) else { return nil }
    return UnitText(
      cipher: cipher, number: trailer.u64(16), stored: stored, range: layout.clear..<layout.trailer)
  }

  /// Returns the tag of a unit.
  private func tag(
    _ authenticator: Poly1305, _ kind: UnitCodec.Kind, at offset: UInt64, _ stored: UnsafeRawPointer,
    _ layout: Layout
  ) -> AuthenticationTag {
    var authenticator = authenticator
    let place = (
      idFirst.littleEndian, idLast.littleEndian, UInt64(kind.rawValue).littleEndian, offset.littleEndian
    )
    withUnsafeBytes(of: place) { authenticator.update($0) }
    // The checksum is computed over the tag, so the tag cannot cover it.
    let clear = max(layout.clear - UnitCodec.checksumLength, 0)
    authenticator.update(UnsafeRawBufferPointer(start: stored + (layout.clear - clear), count: clear))
    authenticator.pad()
    let text = layout.trailer - layout.clear
    authenticator.update(UnsafeRawBufferPointer(start: stored + layout.clear, count: text))
    authenticator.pad()
    let lengths = (UInt64(MemoryLayout.size(ofValue: place) + clear).littleEndian, UInt64(text).littleEndian)
    withUnsafeBytes(of: lengths) { authenticator.update($0) }
    return authenticator.finish()
  }
}

/// The text of a unit whose tag is right. It can be decrypted in parts.
struct UnitText {
  fileprivate let cipher: EpochCipher
  fileprivate let number: UInt64
  /// The unit in the memory in which it was authenticated.
  fileprivate let stored: UnsafeRawPointer
  /// The part of the unit that is encrypted.
  let range: Range<Int>

  /// Decrypts a part of the text to the same place in `target`, which has the length of the unit.
  func decrypt(_ part: Range<Int>, into target: UnsafeMutableRawPointer) {
    // SAFETY: the caller keeps both, and passes a part of `range`.
    cipher.apply(
      UnsafeRawBufferPointer(start: stored + part.lowerBound, count: part.count),
      into: UnsafeMutableRawBufferPointer(start: target + part.lowerBound, count: part.count),
      unit: number, at: UInt64(part.lowerBound - range.lowerBound))
  }
}
