import LatewoodBytes

/// Seals the units of a file when they are written, and opens them when they are read: FORMAT.md,
/// section 2.
///
/// A *unit* is a part of a file that is written as a whole and verified as a whole:
///
/// ```
/// header   content ........ | checksum 8      opened before the file is known, so without its seed
/// slot     checksum 8 | content 56
/// frame    checksum 8 | header 48 | payload   a nodes frame without its payload
/// node     checksum 8 | content .........     in the payload of a nodes frame
/// extent   content ......................     a value in the payload of a frame, whose checksum is
///                                             in the references to it
/// ```
///
/// Every checksum over bytes of a file is computed here, over the stored bytes. If
/// the file is encrypted, a `FileCipher` encrypts the text of each unit before that, and a trailer
/// with the nonce and the tag follows it.
///
/// A plain value, so that hot paths copy it without counting references.
@usableFromInline package struct UnitCodec: Sendable, Equatable {
  /// The kinds of units that depend on the file they are in. The raw values are covered by the tags
  /// of encrypted files.
  package enum Kind: UInt8, Sendable {
    case slot = 1
    case frame = 2
    case node = 3
    case extent = 4
    case key = 5
  }

  /// The number of bytes at the start of a slot, frame or node that its checksum takes.
  package static let checksumLength = 8
  /// The number of bytes at the start of a node that are not encrypted.
  package static let clearNodeLength = 40

  /// The codec of the header, which has to be opened before the file is known.
  package static let header = UnitCodec(seed: 0)

  /// The file seed.
  package let seed: UInt64
  /// The cipher of an encrypted file; nil for any other.
  // SAFETY: the owner of the codec keeps the cipher: a `DatabaseFile`, and the `MappedFile` of
  // every view.
  let cipher: Unmanaged<FileCipher>?

  package init(seed: UInt64) {
    self.seed = seed
    cipher = nil
  }

  private init(seed: UInt64, _ cipher: FileCipher) {
    self.seed = seed
    self.cipher = .passUnretained(cipher)
  }

  /// Returns the codec of the same file with its cipher, which the caller keeps.
  func encrypted(by cipher: FileCipher) -> UnitCodec { UnitCodec(seed: seed, cipher) }

  @usableFromInline package static func == (left: UnitCodec, right: UnitCodec) -> Bool {
    left.seed == right.seed
  }

  /// Whether the file is encrypted.
  @inline(__always) package var isEncrypted: Bool { cipher != nil }

  /// The number of bytes that follow the text of each unit.
  @inline(__always) package var trailerLength: Int { cipher == nil ? 0 : FileCipher.trailerLength }

  /// Creates the codec of the file with an id of 16 bytes.
  package init(fileID: UnsafeRawBufferPointer) { self.init(seed: XXH64.hash(fileID, seed: 0)) }

  // MARK: Slots, frames and nodes

  /// Writes the checksum of a slot, frame or node in memory, and returns it.
  ///
  /// - Parameter offset: the offset at which the unit will be written.
  @inline(__always) package func seal(
    _ kind: Kind, at offset: UInt64, _ start: UnsafeMutableRawPointer, _ length: Int
  ) -> UInt64 {
    let sum = checksum(kind, at: offset, UnsafeRawPointer(start), length)
    start.set(sum, at: 0)
    return sum
  }

  /// Returns whether a slot, frame or node in memory matches the checksum that it begins with.
  @inline(__always) package func isSound(
    _ kind: Kind, at offset: UInt64, _ start: UnsafeRawPointer, _ length: Int
  ) -> Bool {
    checksum(kind, at: offset, start, length) == start.u64(0)
  }

  /// Returns the checksum that a slot, frame or node in memory should begin with.
  ///
  /// - Parameter length: the length of the unit including its checksum.
  @inline(__always) package func checksum(
    _ kind: Kind, at offset: UInt64, _ start: UnsafeRawPointer, _ length: Int
  ) -> UInt64 {
    XXH64.hash(start + UnitCodec.checksumLength, length &- UnitCodec.checksumLength, seed: seed)
  }

  // MARK: Extents

  /// Returns the checksum of a value, which its references contain.
  @inline(__always) package func sealExtent(
    at offset: UInt64, _ start: UnsafeRawPointer, _ length: Int
  ) -> UInt32 {
    UInt32(truncatingIfNeeded: XXH64.hash(start, length, seed: seed))
  }

  /// Returns the checksum of a value, which its references contain.
  @inline(__always) package func sealExtent(
    at offset: UInt64, _ value: UnsafeRawBufferPointer
  ) -> UInt32 {
    UInt32(truncatingIfNeeded: XXH64.hash(value, seed: seed))
  }

  /// Throws `damaged` if a value in memory does not match the checksum in a reference to it.
  @inline(__always) package func open(
    _ reference: ExtentReference, _ start: UnsafeRawPointer
  ) throws(StorageError) {
    let length = Int(truncatingIfNeeded: reference.length)
    guard sealExtent(at: reference.offset, start, length) == reference.checksum else {
      throw reference.mismatch
    }
  }

  /// A value that will be written to a file at an offset that is not known yet.
  package struct UnplacedExtent: Sendable {
    fileprivate let checksum: UInt64
  }

  /// Opens a value, and prepares it for another file, in one pass over its bytes.
  ///
  /// Throws `damaged` if it does not match the checksum in the reference.
  package func open(
    _ reference: ExtentReference, _ start: UnsafeRawPointer, for other: UnitCodec
  ) throws(StorageError) -> UnplacedExtent {
    let length = Int(truncatingIfNeeded: reference.length)
    let (here, there) = XXH64.hashes(start, length, seeds: (seed, other.seed))
    guard UInt32(truncatingIfNeeded: here) == reference.checksum else { throw reference.mismatch }
    return UnplacedExtent(checksum: there)
  }

  /// Prepares a value in memory that has been verified.
  package func unplaced(_ start: UnsafeRawPointer, _ length: Int) -> UnplacedExtent {
    // An encrypted value is sealed at its offset.
    UnplacedExtent(checksum: isEncrypted ? 0 : XXH64.hash(start, length, seed: seed))
  }

  /// Encrypts a prepared value in place, where the memory has space for its trailer. Does nothing
  /// in a file that is not encrypted.
  package func place(
    _ extent: inout UnplacedExtent, at offset: UInt64, _ start: UnsafeMutableRawPointer, _ length: Int
  ) {
    guard isEncrypted else { return }
    extent = UnplacedExtent(checksum: UInt64(sealExtent(at: offset, start, into: start, length)))
  }

  /// Returns the checksum of a value that was prepared for this file.
  package func sealExtent(at offset: UInt64, _ extent: UnplacedExtent) -> UInt32 {
    UInt32(truncatingIfNeeded: extent.checksum)
  }

  // MARK: Units in pieces

  /// The checksum of a unit whose bytes arrive in pieces.
  package struct Pieces {
    private let seed: UInt64
    private let count: Int
    private var stream: XXH64.Stream?
    /// The checksum if all of the unit has arrived in one piece, which is faster.
    private var whole: UInt64?

    fileprivate init(seed: UInt64, count: Int) {
      self.seed = seed
      self.count = count
    }

    package mutating func add(_ piece: UnsafeRawBufferPointer) {
      if piece.count == count {
        whole = XXH64.hash(piece, seed: seed)
        return
      }
      var next = stream.take() ?? XXH64.Stream(seed: seed)
      next.update(piece)
      stream = next
    }

    /// The checksum of a slot, frame or node.
    package var checksum: UInt64 { whole ?? (stream ?? XXH64.Stream(seed: seed)).finish() }
    /// The checksum of an extent.
    package var extentChecksum: UInt32 { UInt32(truncatingIfNeeded: checksum) }
  }

  /// Begins a unit.
  ///
  /// - Parameter count: the number of bytes that follow in pieces: those of the unit, without its
  ///   own checksum.
  package func pieces(of kind: Kind, at offset: UInt64, count: Int) -> Pieces {
    Pieces(seed: seed, count: count)
  }

  // MARK: The header

  /// Writes the checksum of a copy of the header. It does not depend on the file, whose id is in
  /// the header.
  static func sealHeader(_ start: UnsafeMutableRawPointer) {
    start.set(headerChecksum(UnsafeRawPointer(start)), at: FileHeader.Offset.checksum)
  }

  /// Returns whether a copy of the header, all of which is in memory, matches its checksum.
  static func isHeaderSound(_ start: UnsafeRawPointer) -> Bool {
    headerChecksum(start) == start.u64(FileHeader.Offset.checksum)
  }

  private static func headerChecksum(_ start: UnsafeRawPointer) -> UInt64 {
    XXH64.hash(start, FileHeader.Offset.checksum, seed: 0)
  }
}
