import LatewoodBytes

/// A file whose mappings are filled by reading: see `PageCache`. Everything else is forwarded to
/// the file itself.
package final class BufferedDevice: Device {
  package let file: any Device
  private let pages: PageCache

  package init(_ file: any Device, cacheBytes: Int) {
    self.file = file
    pages = PageCache(budget: cacheBytes) { (target, offset) throws(StorageError) in
      try file.read(into: target, at: offset)
    }
  }

  /// Creates a device for an encrypted file. Its cache is filled only by those who decrypt: by
  /// `show`, and by `PageCache.show`.
  package init(encrypted file: any Device, cacheBytes: Int) {
    self.file = file
    pages = PageCache(budget: cacheBytes)
  }

  package var cache: PageCache? { pages }

  package func map(capacity: UInt64) throws(StorageError) -> AddressSpace {
    try pages.addresses(for: capacity)
  }

  package func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    try pages.makeReadable(bytes, at: offset)
  }

  package func pinMapped(_ range: Range<UInt64>) throws(StorageError) { try pages.pin(range) }

  package func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    // If this throws, some of the bytes may have been written. No reader accesses that part of the
    // file.
    try file.write(bytes, at: offset)
    if !pages.isPrivate { pages.didWrite(bytes, at: offset) }
  }

  package func show(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
    if pages.isPrivate { pages.didWrite(bytes, at: offset) }
  }

  package var isRemote: Bool { file.isRemote }

  // MARK: Forwarded to the file

  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int
  {
    try file.read(into: target, at: offset)
  }
  package func readFromDisk(
    into target: UnsafeMutableRawBufferPointer, at offset: UInt64
  ) throws(StorageError) -> Int? { try file.readFromDisk(into: target, at: offset) }
  package func sync() throws(StorageError) { try file.sync() }
  package func size() throws(StorageError) -> UInt64 { try file.size() }
  package func allocatedSize() throws(StorageError) -> UInt64 { try file.allocatedSize() }
  package func permissions() throws(StorageError) -> UInt16 { try file.permissions() }
  package func copyAttributes(from other: any Device) throws(StorageError) {
    try file.copyAttributes(from: other)
  }
  package func pathStatus() throws(StorageError) -> PathStatus { try file.pathStatus() }
  package func dropCache(_ range: Range<UInt64>) { file.dropCache(range) }
  package func startWriteback(offset: UInt64, length: UInt64) {
    file.startWriteback(offset: offset, length: length)
  }
  package func reserve(offset: UInt64, length: UInt64) { file.reserve(offset: offset, length: length) }
  package func allocateBlocks(offset: UInt64, length: UInt64) -> BlockAllocation {
    file.allocateBlocks(offset: offset, length: length)
  }
  package func freeSpace() -> UInt64? { file.freeSpace() }
  package var prefersZeroedSpace: Bool { file.prefersZeroedSpace }
  package var blockLength: UInt64 { file.blockLength }
  package func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool {
    try file.punch(offset: offset, length: length)
  }
  package func nextHole(from offset: UInt64) throws(StorageError) -> Range<UInt64>? {
    try file.nextHole(from: offset)
  }
  package var identity: FileIdentity { file.identity }
  package func lockForReading() throws(StorageError) { try file.lockForReading() }
  package func tryLockForReading() throws(StorageError) -> Bool { try file.tryLockForReading() }
  package func tryLockExclusively() throws(StorageError) -> Bool { try file.tryLockExclusively() }
  package func unlockExclusively() { file.unlockExclusively() }
  package func lockForWriting() throws(StorageError) -> Bool { try file.lockForWriting() }
  package func unlockWriting() { file.unlockWriting() }
  package func wasRenamed(to path: String) { file.wasRenamed(to: path) }
  package func close() { file.close() }
}
