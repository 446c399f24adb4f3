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
/// Every checksum over bytes of a file is computed here, from the kind of the unit, its offset and
/// its bytes. XXH64 uses only the bytes. A keyed authenticator, which has to refuse a unit that was
/// moved, would use all three.
///
/// A plain value, so that hot paths copy it without counting references.
@usableFromInline package struct UnitCodec: Sendable, Equatable {
  /// The kinds of units that depend on the file they are in.
  package enum Kind: Sendable { case slot, frame, node, extent }

  /// The number of bytes at the start of a slot, frame or node that its checksum takes.
  package static let checksumLength = 8

  /// The codec of the header, which has to be opened before the file is known.
  package static let header = UnitCodec(seed: 0)

  /// The file seed.
  package let seed: UInt64

  package init(seed: UInt64) { self.seed = seed }

  /// Creates the codec of the file with an id of 16 bytes.
  package init(fileID: UnsafeRawBufferPointer) { seed = XXH64.hash(fileID, seed: 0) }

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
