import LatewoodBytes

/// One open file. All input and output of the engine goes through this protocol, so that tests can
/// put a simulated disk in its place.
///
/// Thread safety: every call may come from any thread. Reads and writes at places that do not
/// overlap may run at the same time.
package protocol Device: AnyObject, Sendable {
  /// Reads at `offset` until `target` is full or the file ends; returns how many bytes were read.
  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Fault) -> Int

  /// Writes all of `bytes` at `offset`, past the end of the file where need be. If it throws, any
  /// part may have been written.
  func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Fault)

  /// On return everything written before survives a power cut. If it throws, nothing is known about
  /// those writes, and no later call can make up for it: a sync is never retried.
  func sync() throws(Fault)

  func size() throws(Fault) -> UInt64
  /// Bytes the file takes on the disk; less than `size` where it has holes.
  func allocatedSize() throws(Fault) -> UInt64

  /// Who may do what with the file: the lower nine bits of a mode.
  func permissions() throws(Fault) -> UInt16

  /// Gives this new file what the other carries beside its bytes: owner, group, permissions, access
  /// control list and extended attributes. It does so durably, and does nothing where both are
  /// alike.
  ///
  /// The system may refuse extended attributes that have nothing to do with access, and those that
  /// it keeps for itself; they are left out.
  ///
  /// Throws `permissionDenied` if owner and group cannot be kept, and what the system says of the
  /// rest; then the new file must not be used in place of the other, because others could open it
  /// than before.
  func copyAttributes(from other: any Device) throws(Fault)

  /// What has become of the name that the file was opened or renamed by. Takes about a microsecond.
  func place() throws(Fault) -> FilePlace

  /// Maps the first `capacity` bytes of the file, which may have fewer. The mapping shows what is
  /// written later, by whomever.
  ///
  /// - Parameter capacity: a multiple of 64 KiB.
  ///
  /// Throws `outOfMemory` if the system does not grant the process so many addresses.
  func map(capacity: UInt64) throws(Fault) -> AddressSpace

  /// Maps what follows a mapping from `map` or `extend` at the addresses that follow it, so that
  /// whoever looks at that one need not look elsewhere.
  ///
  /// - Parameter capacity: a multiple of 64 KiB, greater than that of `space`.
  /// - Returns: a mapping with the same base, which keeps `space`; nil if the addresses are not to
  ///   be had, or the device has no such way.
  func extend(_ space: AddressSpace, capacity: UInt64) throws(Fault) -> AddressSpace?

  /// Brings bytes of the file into memory where a mapping has them, so that to touch them does not
  /// fail. If nobody touches them for long the system may take them back, and read them again
  /// later.
  ///
  /// - Parameters:
  ///   - bytes: a part of a mapping of this file, all of it below the file's size.
  ///   - offset: of its first byte in the file.
  ///
  /// Throws `inputOutput`, with the offset, if the disk does not give them. Goes on after `close`,
  /// as the mapping does.
  func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Fault)

  /// Asks the system to forget what it caches of the range, so that reads see the disk. An upper
  /// bound of `UInt64.max` is the end of the file. Best effort.
  func dropCache(_ range: Range<UInt64>)
  /// Reads as `read` does, but what the disk has and not what the system caches of it. What was
  /// written there before goes to the disk first, which makes nothing durable; the cache stays as
  /// it is.
  ///
  /// - Parameters:
  ///   - target: its address and length are multiples of `directAlignment`.
  ///   - offset: a multiple of that too.
  /// - Returns: how many bytes were read; nil where there is no such way. Then it need not be asked
  ///   again.
  func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Fault) -> Int?

  /// Asks the system to start writing the range to the disk without waiting. Best effort.
  func startWriteback(offset: UInt64, length: UInt64)

  /// Makes the file long enough for this range and has the disk set blocks aside for it; what is
  /// new reads as zeros. Best effort; it never makes a file shorter. A sync after a write into such
  /// room has no new size to record, which takes a third of its time.
  func reserve(offset: UInt64, length: UInt64)

  /// Whether the first sync after a write into room that was only reserved is dearer than one after
  /// a write into room that was written before: a file system notes when a block comes into use.
  var prefersWrittenRoom: Bool { get }

  /// Blocks of this length, at multiples of it, can be given back one by one; a power of two.
  var blockLength: UInt64 { get }

  /// Gives whole blocks back to the file system: they read as zeros at once, and the size of the
  /// file stays. Until the next sync a power cut may bring any of them back.
  ///
  /// - Returns: false if the file system or the system cannot do it; then nothing was changed, and
  ///   it need not be asked again.
  func punch(offset: UInt64, length: UInt64) throws(Fault) -> Bool

  /// The first stretch from `offset` on that takes no room on the disk and reads as zeros; nil if
  /// there is none, or nobody can tell.
  func nextHole(from offset: UInt64) throws(Fault) -> Range<UInt64>?

  var identity: FileIdentity { get }

  /// Takes a lock on the file, shared with other readers and held until `close`, that says that a
  /// reader is there. Waits for whoever has it exclusively: a writer does for moments only. Throws
  /// `lockedByOtherProcess` if it is not to be had for many seconds.
  func lockForReading() throws(Fault)

  /// The same without waiting: false if somebody has it exclusively.
  func tryLockForReading() throws(Fault) -> Bool

  /// Takes the lock exclusively if nobody else has it in any way, in this process or another, and
  /// else returns false at once. For a device that does not hold it for reading.
  func tryLockExclusively() throws(Fault) -> Bool

  /// Gives back what `tryLockExclusively` took.
  func unlockExclusively()

  /// Takes the lock of the one open of this very file that writes to it, until `close`; false if
  /// another open has it. The lock of the writing process lies in a file of its own that somebody
  /// can remove; this one cannot be lost. True where the system has no such lock.
  func lockForWriting() throws(Fault) -> Bool

  /// Gives back what `lockForWriting` took.
  func unlockWriting()

  /// Says that the file has another path now, which errors are to name.
  func wasRenamed(to path: String)

  /// Idempotent. Address spaces stay valid until they are released.
  func close()
}

extension Device {
  package func extend(_ space: AddressSpace, capacity: UInt64) throws(Fault) -> AddressSpace? { nil }
  package func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(Fault) {}
  package func nextHole(from offset: UInt64) throws(Fault) -> Range<UInt64>? { nil }
  package func tryLockForReading() throws(Fault) -> Bool {
    try lockForReading()
    return true
  }
  package func lockForWriting() throws(Fault) -> Bool { true }
  package func unlockWriting() {}
  package func wasRenamed(to path: String) {}
  package func copyAttributes(from other: any Device) throws(Fault) {}
  package func place() throws(Fault) -> FilePlace { .kept(links: 1) }
}

/// What has become of the name of an open file.
package enum FilePlace: Sendable, Equatable {
  /// The name leads to the file still, and so many names in its file system do, this one included.
  case kept(links: UInt64)
  /// Nothing has the name any more, or something else has it.
  case lost
  /// The system does not tell this process.
  case unknown
}

/// What memory and offsets of reads past the cache are multiples of: no disk has longer blocks.
package let directAlignment = 4096

/// What a file is, whatever it is called: the same for every open of it.
package struct FileIdentity: Hashable, Sendable {
  package var device: UInt64
  package var inode: UInt64

  package init(device: UInt64, inode: UInt64) {
    self.device = device
    self.inode = inode
  }
}

/// How a file is opened.
package enum OpenMode: Sendable, Equatable {
  case readOnly
  case readWrite
  /// Fails with `alreadyExists` if there is anything at the path, a symbolic link too.
  case createExclusive(permissions: UInt16)
}

/// A file system: what the engine needs beside the files themselves.
package protocol Volume: AnyObject, Sendable {
  func open(_ path: String, _ mode: OpenMode) throws(Fault) -> any Device
  func exists(_ path: String) throws(Fault) -> Bool
  /// The file that the path leads to; nil if it leads to none.
  func identity(of path: String) throws(Fault) -> FileIdentity?
  /// The path with symbolic links followed: what is put beside the file, or renamed over it,
  /// belongs there. The last part of the path need not exist.
  func resolved(_ path: String) throws(Fault) -> String
  /// Atomically puts `from` in the place of `to`.
  func rename(_ from: String, to: String) throws(Fault)
  func remove(_ path: String) throws(Fault)
  /// Makes creations, renames and removals in the directory of `path` durable.
  func syncDirectory(containing path: String) throws(Fault)
  /// Takes the lock of the one writing process of the database at `path`; it lies in a file of its
  /// own, `SideName.lock`.
  ///
  /// Throws `lockedByThisProcess` or `lockedByOtherProcess`.
  func lockForWriting(_ path: String) throws(Fault) -> any FileLock
  /// Whether a process, this one included, has that lock. To ask creates no file.
  func isLockedForWriting(_ path: String) throws(Fault) -> Bool
}

extension Volume {
  package func isLockedForWriting(_ path: String) throws(Fault) -> Bool { false }

  package func identity(of path: String) throws(Fault) -> FileIdentity? {
    do throws(Fault) {
      let device = try open(path, .readOnly)
      defer { device.close() }
      return device.identity
    } catch {
      if error.kind == .notFound { return nil }
      throw error
    }
  }

  /// Removes what has this name, if anything has: also a symbolic link that leads nowhere, which
  /// `exists` does not see and which would keep a file from being created in its place.
  package func removeIfPresent(_ path: String) throws(Fault) {
    do throws(Fault) {
      try remove(path)
    } catch {
      if error.kind != .notFound { throw error }
    }
  }
}

/// A lock that is held until `unlock`.
package protocol FileLock: AnyObject, Sendable {
  func unlock()
  /// False in a child process that inherited the lock by fork.
  var isOwnedByThisProcess: Bool { get }
}
