import LatewoodBytes
import LatewoodDevice
import Synchronization

/// A reader's view of a file: its bytes in memory, how many of them may be accessed, and which have
/// been verified.
///
/// A plain value of raw pointers, so that hot paths copy it without counting references. Its owner
/// also keeps the `AddressSpace` that it points into.
///
/// Invariants:
/// 1. Every address in `base ..< base + limit` is a byte of the file.
/// 2. The bit of `offset / 64` is set only after the node or extent that starts there was checked
///    against its checksum, and is cleared after a while (`MappedFile.setProofLifetime`).
// SAFETY: the pointers never change; the bitmap is only accessed atomically.
@usableFromInline package struct FileView: @unchecked Sendable {
  @usableFromInline package let base: UnsafeRawPointer
  @usableFromInline package let verified: UnsafeMutableRawPointer
  /// The file seed of FORMAT.md, section 2.
  @usableFromInline package let seed: UInt64
  /// The number of bytes of the file that may be accessed.
  @usableFromInline package var limit: UInt64
  /// The file behind the mapping; nil if the bytes are only in memory.
  let owner: Unmanaged<MappedFile>?

  package init(
    base: UnsafeRawPointer, verified: UnsafeMutableRawPointer, seed: UInt64, limit: UInt64,
    owner: MappedFile? = nil
  ) {
    self.base = base
    self.verified = verified
    self.seed = seed
    self.limit = limit
    self.owner = owner.map { .passUnretained($0) }
  }

  /// The kind of content that a bit marks as verified. Nodes and extents have separate bits,
  /// because the bytes of a value may look like a node.
  @usableFromInline package enum Proof {
    @usableFromInline package static let node: UInt64 = 0
    @usableFromInline package static let extent: UInt64 = 1
  }

  /// The word of the bitmap that contains a bit.
  // SAFETY: the bitmap has two bits for every 64 bytes of the address space, and a zeroed word is a
  // valid Atomic<UInt64>.
  @inlinable @inline(__always) func word(_ bit: UInt64) -> UnsafeMutablePointer<Atomic<UInt64>> {
    verified.advanced(by: Int(truncatingIfNeeded: bit &>> 6) &* 8)
      .assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// Whether the node or extent at `offset`, which is below `limit`, has been verified.
  @inlinable @inline(__always) package func isVerified(_ offset: UInt64, _ proof: UInt64) -> Bool {
    let bit = (offset &>> 6) &* 2 | proof
    return word(bit).pointee.load(ordering: .relaxed) & (1 &<< (bit & 63)) != 0
  }

  /// Marks the node or extent at `offset` as verified.
  ///
  /// - Parameter length: its length, in bytes.
  package func markVerified(_ offset: UInt64, _ length: Int, _ proof: UInt64) {
    let bit = (offset &>> 6) &* 2 | proof
    let mark = { _ = word(bit).pointee.bitwiseOr(1 &<< (bit & 63), ordering: .relaxed) }
    owner?._withUnsafeGuaranteedRef { $0.noteProof() }
    guard let cache else { return mark() }
    let start = base + Int(truncatingIfNeeded: offset)
    cache.noteProof(of: UnsafeRawBufferPointer(start: start, count: length), mark)
  }

  /// Returns the bytes of a value in a commit frame. Checks bounds each time, the checksum only the
  /// first time.
  @inlinable package func extent(
    offset: UInt64, length: UInt64, checksum: UInt32
  ) throws(Fault) -> UnsafeRawBufferPointer {
    guard length <= limit, offset <= limit &- length, offset >= 16384 else {
      throw Fault.damaged(at: offset, "a value's extent does not lie within the file")
    }
    let start = base + Int(truncatingIfNeeded: offset)
    let count = Int(truncatingIfNeeded: length)
    // Two values of less than 64 bytes could share a bit, so these are checked each time.
    if count > 0, count < 64 || !isVerified(offset, Proof.extent) {
      try verifyExtent(start, count, offset, checksum)
    }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  @usableFromInline func verifyExtent(
    _ start: UnsafeRawPointer, _ count: Int, _ offset: UInt64, _ checksum: UInt32
  ) throws(Fault) {
    try makeReadable(offset, count)
    guard UInt32(truncatingIfNeeded: XXH64.hash(start, count, seed: seed)) == checksum else {
      throw Fault.damaged(at: offset, "a value does not match its checksum")
    }
    markVerified(offset, count, Proof.extent)
  }
}
