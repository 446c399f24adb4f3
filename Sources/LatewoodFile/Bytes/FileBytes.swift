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
      FrameHeader.decode(from: bytes, at: offset, trailerLength: codec.trailerLength)
    }
    return decoded ?? nil
  }

  /// Returns whether the checksum of a frame is correct.
  ///
  /// Throws `damaged` if it is, but the tag of an encrypted frame is wrong. Commit frames, which
  /// can be long, are authenticated when they are decrypted.
  package func isSound(_ header: FrameHeader) throws(StorageError) -> Bool {
    guard let end = header.requiredEnd, end <= size else { return false }
    let start = header.ownOffset + UInt64(UnitCodec.checksumLength)
    guard try checksum(of: .frame, at: header.ownOffset, over: start..<end) == header.checksum else {
      return false
    }
    guard header.trailerLength > 0, header.kind != .commit else { return true }
    let isAuthentic = try withBytes(at: header.ownOffset, count: header.layout.length) {
      (bytes) throws(StorageError) in
      try codec.authenticate(.frame, at: header.ownOffset, bytes, header.layout)
      return true
    }
    guard isAuthentic == true else { throw UnitCodec.forged(at: header.ownOffset) }
    return true
  }
}

/// Extents: FORMAT.md, section 6.
extension FileBytes {
  /// Returns the range of a value in the file, with its trailer. Throws `damaged` if it does not
  /// lie within the file.
  func storedRange(of reference: ExtentReference) throws(StorageError) -> Range<UInt64> {
    try reference.check(within: size)
    let (end, overflow) = (reference.offset + reference.length).addingReportingOverflow(
      UInt64(codec.trailerLength))
    guard !overflow, end <= size else { throw reference.outside }
    return reference.offset..<end
  }

  /// Reads a value into memory that has space for its trailer, and verifies it there.
  ///
  /// Throws `damaged` if it does not lie within the file, or is not the value that the reference
  /// names; and errors of the device.
  package func readExtent(
    _ reference: ExtentReference, into target: UnsafeMutableRawPointer
  ) throws(StorageError) {
    let range = try storedRange(of: reference)
    try read(into: UnsafeMutableRawBufferPointer(start: target, count: range.count), at: range.lowerBound)
    try codec.openExtent(reference, target, into: target)
  }

  /// Throws `damaged` if a value does not lie within the file or does not match its checksum;
  /// `inputOutput` if the disk cannot read it.
  package func verify(_ reference: ExtentReference) throws(StorageError) {
    if codec.isEncrypted {
      return try withWork(Int(reference.length) + codec.trailerLength) { memory throws(StorageError) in
        try readExtent(reference, into: memory)
      }
    }
    let range = try storedRange(of: reference)
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
