import LatewoodBytes
import LatewoodDevice

/// The bytes of a file, from which its units are opened.
///
/// There are two kinds. `FileView` has the bytes as readers see them, in place in the mapping or
/// the page cache, and `ViewedBytes` has the same for a sequential pass. `DiskBytes`, and the
/// reader of the inspection tool, copy them from the file into private memory with system calls.
/// The extensions of this protocol are the rules that apply to both, so that the engine and the
/// inspector cannot disagree about a file.
package protocol FileBytes {
  /// The number of bytes of the file that may be read.
  var size: UInt64 { get }
  /// Opens the units of the file.
  var codec: UnitCodec { get }
  /// The same bytes, but kept in memory only during each call, for a search that may read much.
  var unpinned: Self { get }

  /// Calls `body` with the address of bytes of the file, which must not be kept; returns nil if
  /// they do not all lie within the file. Throws `inputOutput` if the disk cannot read them.
  func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R?

  /// Calls `body` with a range that lies within the file, in as few pieces as memory allows. Throws
  /// `inputOutput` if the disk cannot read it.
  func eachPiece(
    of range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError)

  /// Copies a range that lies within the file with a system call. Throws errors of the device.
  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)

  /// Returns the parts of a range that are not large holes, which read as zeros.
  func storedRanges(in range: Range<UInt64>) -> StoredRanges
}

/// Frames: FORMAT.md, section 5.
extension FileBytes {
  /// Returns the checksum of a unit, without the bytes of its own checksum.
  ///
  /// - Parameter range: the bytes that the checksum covers, which lie within the file.
  package func checksum(
    of kind: UnitCodec.Kind, at offset: UInt64, over range: Range<UInt64>
  ) throws(StorageError) -> UInt64 {
    var pieces = codec.pieces(of: kind, at: offset, count: range.count)
    try eachPiece(of: range) { pieces.add($0) }
    return pieces.checksum
  }

  /// Returns the frame at `offset`; nil if it is not valid by itself. The frames before it are not
  /// considered.
  ///
  /// Throws `inputOutput` if the disk cannot read its bytes.
  package func frame(at offset: UInt64) throws(StorageError) -> FrameHeader? {
    guard let header = try frameHeader(at: offset), try isSound(header) else { return nil }
    return header
  }

  /// Returns the header at `offset`; nil if there is none, or the required part of its frame does
  /// not lie within the file. The checksum is not compared.
  package func frameHeader(at offset: UInt64) throws(StorageError) -> FrameHeader? {
    guard offset >= FileLayout.logStart, offset % FileLayout.frameAlignment == 0,
      let header = try anyFrameHeader(at: offset), let required = header.requiredEnd, required <= size
    else { return nil }
    return header
  }

  /// Returns the header at `offset`, if there is one, regardless of the length it claims.
  package func anyFrameHeader(at offset: UInt64) throws(StorageError) -> FrameHeader? {
    let decoded = try withBytes(at: offset, count: FrameHeader.length) { bytes in
      FrameHeader.decode(from: bytes, at: offset)
    }
    return decoded ?? nil
  }

  /// Returns whether the checksum of a frame is correct.
  package func isSound(_ header: FrameHeader) throws(StorageError) -> Bool {
    guard let end = header.requiredEnd, end <= size else { return false }
    let start = header.ownOffset + UInt64(UnitCodec.checksumLength)
    return try checksum(of: .frame, at: header.ownOffset, over: start..<end) == header.checksum
  }
}

/// Extents: FORMAT.md, section 6.
extension FileBytes {
  /// Throws `damaged` if a value does not lie within the file or does not match its checksum;
  /// `inputOutput` if the disk cannot read it.
  package func verify(_ reference: ExtentReference) throws(StorageError) {
    try reference.check(within: size)
    let range = reference.offset..<reference.offset + reference.length
    let sum = try checksum(of: .extent, at: reference.offset, over: range)
    guard UInt32(truncatingIfNeeded: sum) == reference.checksum else { throw reference.mismatch }
  }
}

/// The number of bytes that a search may still hash: sixteen times as many as it searches, so that
/// bytes crafted to look like many long units do not take quadratic time.
package struct HashBudget: Sendable {
  private var rest: UInt64

  /// - Parameter count: the number of bytes to search.
  package init(searching count: UInt64) {
    rest = count.multipliedReportingOverflow(by: 16).partialValue
  }

  /// Returns whether so many bytes may still be hashed.
  package func allows(_ count: UInt64) -> Bool { count <= rest }

  /// Takes as many bytes from the budget. Returns false, and takes none, if it has fewer.
  package mutating func spend(_ count: UInt64) -> Bool {
    guard allows(count) else { return false }
    rest -= count
    return true
  }
}
