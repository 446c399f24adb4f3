import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// A reader's view of a file: its bytes in memory, the number of bytes that may be accessed, and a
/// record of the verified parts.
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
  /// Opens the units of the file.
  package let codec: UnitCodec
  /// The number of bytes of the file that may be accessed.
  @usableFromInline package var limit: UInt64
  /// The file behind the mapping; nil if the bytes are only in memory.
  let owner: Unmanaged<MappedFile>?

  package init(
    base: UnsafeRawPointer, verified: UnsafeMutableRawPointer, codec: UnitCodec, limit: UInt64,
    owner: MappedFile? = nil
  ) {
    self.base = base
    self.verified = verified
    self.codec = codec
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

  /// Returns whether the node or extent at `offset`, which is below `limit`, has been verified.
  ///
  /// If so, this thread sees the bytes that were verified: another one may have written them to the
  /// memory of a cache just before it set the bit.
  @inlinable @inline(__always) package func isVerified(_ offset: UInt64, _ proof: UInt64) -> Bool {
    let bit = (offset &>> 6) &* 2 | proof
    return word(bit).pointee.load(ordering: .acquiring) & (1 &<< (bit & 63)) != 0
  }

  /// Marks the node or extent at `offset` as verified.
  ///
  /// - Parameter length: its length, in bytes.
  package func markVerified(_ offset: UInt64, _ length: Int, _ proof: UInt64) {
    let bit = (offset &>> 6) &* 2 | proof
    let mark = { _ = word(bit).pointee.bitwiseOr(1 &<< (bit & 63), ordering: .releasing) }
    owner?._withUnsafeGuaranteedRef { $0.noteProof() }
    guard let cache else { return mark() }
    let start = base + Int(truncatingIfNeeded: offset)
    cache.noteProof(of: UnsafeRawBufferPointer(start: start, count: length), mark)
  }

  /// Returns the bytes of a value in a commit frame. Checks the bounds each time, but the checksum
  /// only the first time.
  @inlinable package func extent(
    offset: UInt64, length: UInt64, checksum: UInt32
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    let reference = ExtentReference(offset: offset, length: length, checksum: checksum)
    guard reference.isWithin(limit) else { throw reference.outside }
    let start = base + Int(truncatingIfNeeded: offset)
    let count = Int(truncatingIfNeeded: length)
    // Two values of less than 64 bytes could share a bit, so these are checked each time.
    if count < 64 || !isVerified(offset, Proof.extent) { try verify(reference) }
    return UnsafeRawBufferPointer(start: start, count: count)
  }

  /// Prefetches both ends of a verified value, so that a scan waits for the memory of several
  /// values together. Does nothing if the value has not been verified.
  @inline(__always) package func touchExtent(_ offset: UInt64, _ length: Int) {
    guard offset < limit, length > 0, UInt64(truncatingIfNeeded: length) <= limit &- offset,
      isVerified(offset, Proof.extent)
    else { return }
    let start = base + Int(truncatingIfNeeded: offset)
    start.touch()
    (start + (length &- 1)).touch()
  }

  /// Verifies an extent within the file and marks it as verified, unless the bit could be of a
  /// longer one beside it.
  @usableFromInline func verify(_ reference: ExtentReference) throws(StorageError) {
    let (offset, count) = (reference.offset, Int(truncatingIfNeeded: reference.length))
    if codec.isEncrypted { return try decrypt(reference) }
    try makeReadable(offset, count)
    let start = base + Int(truncatingIfNeeded: offset)
    try codec.open(reference, start)
    if count >= 64 { markVerified(offset, count, Proof.extent) }
  }
}

/// The bytes of an encrypted file. The memory of a view has the text of the units that were opened,
/// and zeros elsewhere; `FileBytes` always has the stored bytes.
extension FileView {
  /// Decrypts an extent into the memory of the view, and marks it as verified.
  private func decrypt(_ reference: ExtentReference) throws(StorageError) {
    let (offset, count) = (reference.offset, Int(truncatingIfNeeded: reference.length))
    try withWork(count + codec.trailerLength) { memory throws(StorageError) in
      try readExtent(reference, into: memory)
      try show(UnsafeRawBufferPointer(start: memory, count: count), at: offset)
    }
    if count >= 64 { markVerified(offset, count, Proof.extent) }
  }

  /// Puts the decrypted bytes of a unit into the memory of the view, which the caller keeps in
  /// memory by a pin or a ticket. Does nothing if they are already present.
  package func show(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    try makeReadable(offset, bytes.count)
    cache?.show(bytes, at: base + Int(truncatingIfNeeded: offset))
  }
}

/// The bytes of a file in place, for a caller that keeps them in memory by a pin or a ticket.
extension FileView: FileBytes {
  package var size: UInt64 { limit }
  package var unpinned: FileView { self }

  package func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    guard count >= 0, UInt64(count) <= limit, offset <= limit - UInt64(count) else { return nil }
    if codec.isEncrypted {
      return try withWork(count) { memory throws(StorageError) in
        try read(into: UnsafeMutableRawBufferPointer(start: memory, count: count), at: offset)
        return try body(UnsafeRawPointer(memory))
      }
    }
    try makeReadable(offset, count)
    return try body(base + Int(truncatingIfNeeded: offset))
  }

  package func eachPiece(
    of range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    if codec.isEncrypted { return try DiskBytes(self, fromDisk: false).eachPiece(of: range, body) }
    try makeReadable(range.lowerBound, range.count)
    let start = base + Int(truncatingIfNeeded: range.lowerBound)
    try body(UnsafeRawBufferPointer(start: start, count: range.count))
  }
}

/// Reads of a file that throw, instead of ending the process, if the disk fails.
extension FileView {
  /// Makes a range below `limit` safe to read through the mapping. Throws `inputOutput` if the disk
  /// cannot read it.
  package func makeReadable(_ offset: UInt64, _ length: Int) throws(StorageError) {
    guard let owner, length > 0 else { return }
    let range = offset..<offset + UInt64(length)
    // SAFETY: the owner lives as long as this view's mapping.
    try owner._withUnsafeGuaranteedRef { owner in
      Result { () throws(StorageError) in try owner.makeReadable(range, mappedAt: base, below: limit) }
    }.get()
  }

  /// Returns the parts of a range that are not large holes; all of it if the bytes are only in
  /// memory.
  package func storedRanges(in range: Range<UInt64>) -> StoredRanges {
    StoredRanges(of: owner?.takeUnretainedValue().device, in: range)
  }

  /// Whether the bytes belong to a `PageCache`, which may evict them once the reader that requested
  /// them is no longer registered.
  package var isBuffered: Bool { owner?._withUnsafeGuaranteedRef { $0.isBuffered } ?? false }

  /// The cache that contains the bytes; nil if the file is mapped.
  var cache: PageCache? { isBuffered ? owner?.takeUnretainedValue().device.cache : nil }

  /// Returns a pin on everything that is subsequently read through this view; nil if pages are
  /// never evicted. A caller that reads in place needs a pin, unless it is in a registry that the
  /// file's cache waits for.
  package func pin() -> CachePin? { cache?.pin() }

  /// Pins everything that is read during a single call, until the ticket's `leave`.
  package func enter() -> ReaderRegistry.Ticket { cache?.enter() ?? .none }

  /// Returns whether everything read under an earlier ticket is certainly still in memory. The
  /// caller must hold a new ticket.
  package func isUndisturbed(since ticket: ReaderRegistry.Ticket) -> Bool {
    cache?.isUndisturbed(since: ticket) ?? true
  }

  /// Pins part of the log in memory for readers of records. It must lie below `limit`.
  func pin(_ part: Range<UInt64>) throws(StorageError) {
    try owner?.takeUnretainedValue().device.pinMapped(part)
  }

  /// Copies a range below `limit` with a system call. Throws errors of the device.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
    guard let address = target.baseAddress, !target.isEmpty else { return }
    guard let owner else {
      return address.copyMemory(from: base + Int(truncatingIfNeeded: offset), byteCount: target.count)
    }
    let count = try owner.takeUnretainedValue().device.read(into: target, at: offset)
    guard count == target.count else {
      throw StorageError(
        .inputOutput, "the file was truncated", offset: offset + UInt64(count))
    }
  }

  /// Reads from the disk, bypassing the cache where the system can. Returns the number of bytes
  /// read.
  ///
  /// - Parameters: the same as for `Device.readFromDisk`.
  package func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64)
    throws(StorageError)
    -> Int
  {
    guard let owner else {
      let count = Int(min(UInt64(target.count), limit - min(limit, offset)))
      try read(into: UnsafeMutableRawBufferPointer(rebasing: target[..<count]), at: offset)
      return count
    }
    let device = owner.takeUnretainedValue().device
    if let count = try device.readFromDisk(into: target, at: offset) { return count }
    return try device.read(into: target, at: offset)
  }
}
