import LatewoodBytes

/// An open file. All input and output of the engine goes through this protocol, so that tests can
/// use a simulated disk instead.
///
/// Thread safety: every call can be made from any thread. Reads and writes of ranges that do not
/// overlap may run at the same time.
package protocol Device: AnyObject, Sendable {
  /// Reads at `offset` until `target` is full or the file ends; returns the number of bytes read.
  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int

  /// Writes all of `bytes` at `offset`, extending the file if necessary. If this throws, any part
  /// may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError)

  /// Ensures that all earlier writes survive a power cut. If this throws, it is unknown whether
  /// they do, and a later call cannot change that: a sync is never retried.
  func sync() throws(StorageError)

  func size() throws(StorageError) -> UInt64
  /// The number of bytes that the file takes on the disk; less than `size` if it has holes.
  func allocatedSize() throws(StorageError) -> UInt64

  /// The permission bits of the file: the lower nine bits of its mode.
  func permissions() throws(StorageError) -> UInt16

  /// Durably copies the owner, group, permissions, access control list and extended attributes of
  /// another file to this new one. Does nothing if they are equal.
  ///
  /// Extended attributes other than access control lists are left out if the system refuses them.
  /// Attributes of the system itself are not copied, except for security labels.
  ///
  /// Throws `permissionDenied` if owner and group cannot be set, and other errors of the system. In
  /// this case the new file must not replace the other one, because different users could open it.
  func copyAttributes(from other: any Device) throws(StorageError)

  /// Returns whether the path of the file still refers to it. Takes 3 to 8 microseconds.
  func pathStatus() throws(StorageError) -> PathStatus

  /// Maps the first `capacity` bytes of the file, which may be shorter. The mapping shows later
  /// writes of any process.
  ///
  /// - Parameter capacity: a multiple of 64 KiB.
  ///
  /// Throws `outOfMemory` if the process cannot get enough address space.
  func map(capacity: UInt64) throws(StorageError) -> AddressSpace

  /// Extends a mapping from `map` or `extend` at the addresses that follow it, so that its readers
  /// can stay at the same addresses.
  ///
  /// - Parameter capacity: a multiple of 64 KiB, greater than the capacity of `space`.
  /// - Returns: a mapping with the same base, which keeps `space`; nil if the addresses are not
  ///   available or the device does not support this.
  func extend(_ space: AddressSpace, capacity: UInt64) throws(StorageError) -> AddressSpace?

  /// Reads bytes of the file into memory under a mapping, so that accessing them does not fail. The
  /// system may evict bytes that have not been used for a long time, and read them again later.
  ///
  /// - Parameters:
  ///   - bytes: a part of a mapping of this file, entirely below the file's size.
  ///   - offset: the file offset of the first byte.
  ///
  /// Throws `inputOutput`, with the offset, if the disk cannot read them. Still works after
  /// `close`, like the mapping.
  func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError)

  /// Returns true only if bytes of the file are certainly in memory, so that `makeReadable` would
  /// have nothing to do. If this returns false, call `makeReadable`.
  func isInMemory(_ bytes: UnsafeRawBufferPointer) -> Bool

  /// The memory that can hold parts of the file, in bytes; nil if the whole file always fits, or
  /// the system does not report it.
  var memoryLimit: UInt64? { get }

  /// Tells the system that the first `length` bytes of a mapping of this file will be read in
  /// random order: if a page is not in memory, the system should read only that page. Best effort.
  func expectRandomReads(of space: AddressSpace, length: UInt64)

  /// Asks the system to begin reading a range into its cache, without waiting. Best effort.
  func readAhead(_ range: Range<UInt64>)

  /// The cache that fills the addresses returned by `map`; nil if they show the file itself.
  var cache: PageCache? { get }

  /// Pins a part of the file in memory in all mappings until calls of `PageCache.unpin` release
  /// it. Does nothing if mappings show the file itself. Throws the same as `makeReadable`.
  func pinMapped(_ range: Range<UInt64>) throws(StorageError)

  /// Puts bytes into the cache of an encrypted file, where they are pinned, after they were written
  /// to the file in another form. Does nothing if mappings show the file itself.
  func show(_ bytes: UnsafeRawBufferPointer, at offset: UInt64)

  /// Whether the file is known to be on another machine, or in a file system that a process serves.
  /// If such a file becomes unavailable, reading a mapping of it can end this process.
  var isRemote: Bool { get }

  /// The file that a buffering device reads; otherwise the device itself.
  var file: any Device { get }

  /// Asks the system to drop its cache of the range, so that reads see the disk. An upper bound of
  /// `UInt64.max` means the end of the file. Best effort.
  func dropCache(_ range: Range<UInt64>)
  /// Reads like `read`, but from the disk instead of the system's cache. Earlier writes to the
  /// range are first written to the disk, which does not make them durable. The cache is not
  /// changed.
  ///
  /// - Parameters:
  ///   - target: memory whose address and length are multiples of `directAlignment`.
  ///   - offset: also a multiple of `directAlignment`.
  /// - Returns: the number of bytes read; nil if this is not supported; then it need not be tried
  ///   again.
  func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError)
    -> Int?

  /// Asks the system to start writing the range to the disk without waiting. Best effort.
  func startWriteback(offset: UInt64, length: UInt64)

  /// Extends the file to include this range and allocates blocks for it; new bytes read as zeros.
  /// Best effort; never shortens the file. A sync after a write into preallocated space does not
  /// have to record a new size, which takes a third of its time.
  func reserve(offset: UInt64, length: UInt64)

  /// Allocates missing blocks for a range, without changing the length of the file, so that later
  /// writes to the range do not need more space.
  func allocateBlocks(offset: UInt64, length: UInt64) -> BlockAllocation

  /// Returns the number of bytes that the file system has left for this process; nil if it does not
  /// report it.
  func freeSpace() -> UInt64?

  /// Whether a sync after the first write into reserved space is slower than one after a write into
  /// space that was written before, because the file system records that a block is now in use.
  var prefersZeroedSpace: Bool { get }

  /// The length and alignment of the blocks that can be punched individually; a power of two.
  var blockLength: UInt64 { get }

  /// Punches a hole: returns complete blocks to the file system. They read as zeros immediately,
  /// and the size of the file does not change. Until the next sync a power cut may restore any of
  /// them.
  ///
  /// - Returns: false if the file system or the operating system does not support this. Then
  ///   nothing was changed, and it need not be tried again.
  func punch(offset: UInt64, length: UInt64) throws(StorageError) -> Bool

  /// Returns the first hole at or after `offset`, which takes no space on the disk and reads as
  /// zeros; nil if there is none, or this is not supported.
  func nextHole(from offset: UInt64) throws(StorageError) -> Range<UInt64>?

  var identity: FileIdentity { get }

  /// Takes a lock on the file that is shared with other readers and held until `close`. Waits while
  /// a writer holds it exclusively, which only takes a short time. Throws `lockedByOtherProcess` if
  /// the lock is still held after 10 seconds.
  func lockForReading() throws(StorageError)

  /// Takes the lock of readers without waiting; returns false if it is held exclusively.
  func tryLockForReading() throws(StorageError) -> Bool

  /// Takes the lock exclusively, or returns false immediately if it is held elsewhere, in this
  /// process or another. The device must not hold it for reading.
  func tryLockExclusively() throws(StorageError) -> Bool

  /// Releases the lock taken by `tryLockExclusively`.
  func unlockExclusively()

  /// Takes the write lock on this file itself, until `close`; returns false if another open of the
  /// file has it. The lock of the writing process is in a separate file, which can be removed; this
  /// lock cannot be lost. Returns true if the system does not support such a lock.
  func lockForWriting() throws(StorageError) -> Bool

  /// Releases the lock taken by `lockForWriting`.
  func unlockWriting()

  /// Sets the file's new path after it was renamed, for errors and `pathStatus`.
  func wasRenamed(to path: String)

  /// Closes the file. Idempotent. Address spaces stay valid until they are released.
  func close()
}

extension Device {
  package func extend(_ space: AddressSpace, capacity: UInt64) throws(StorageError) -> AddressSpace? { nil }
  package var cache: PageCache? { nil }
  package func pinMapped(_ range: Range<UInt64>) throws(StorageError) {}
  package func show(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {}
  package func allocateBlocks(offset: UInt64, length: UInt64) -> BlockAllocation { .unsupported }
  package func freeSpace() -> UInt64? { nil }
  package var isRemote: Bool { false }
  package var file: any Device { self }
  package func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {}
  package func isInMemory(_ bytes: UnsafeRawBufferPointer) -> Bool { false }
  package var memoryLimit: UInt64? { nil }
  package func expectRandomReads(of space: AddressSpace, length: UInt64) {}
  package func readAhead(_ range: Range<UInt64>) {}
  package func nextHole(from offset: UInt64) throws(StorageError) -> Range<UInt64>? { nil }
  package func tryLockForReading() throws(StorageError) -> Bool {
    try lockForReading()
    return true
  }
  package func lockForWriting() throws(StorageError) -> Bool { true }
  package func unlockWriting() {}
  package func wasRenamed(to path: String) {}
  package func copyAttributes(from other: any Device) throws(StorageError) {}
  package func pathStatus() throws(StorageError) -> PathStatus { .inPlace(links: 1) }
}

/// The outcome of `Device.allocateBlocks`.
package enum BlockAllocation: Sendable, Equatable {
  case allocated
  /// The disk does not have space for all of them; some may have been allocated.
  case full
  /// The file system does not support this.
  case unsupported
}

/// The state of an open file's name.
package enum PathStatus: Sendable, Equatable {
  /// The name still refers to the file, which has this many names (hard links), including this one.
  case inPlace(links: UInt64)
  /// The name no longer exists, or refers to another file.
  case lost
  /// The system does not report it.
  case unknown
}

/// The alignment of memory and offsets for reads that bypass the cache. Disks do not have longer
/// blocks.
package let directAlignment = 4096

/// The identity of a file, independent of its name and the same for every open of it.
package struct FileIdentity: Hashable, Sendable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}
