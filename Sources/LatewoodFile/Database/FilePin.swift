import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// The pins on an open file and its writer lock, until the file is closed. Versions retain the
/// pins, too.
///
/// Thread safety: any thread.
struct FileLifetime: ~Copyable, Sendable {
  private struct Pins: Sendable {
    var file: FilePin
    /// The pin on the log records of a file that is read through a `PageCache`.
    var records: LogPin?
  }

  private let device: any Device
  /// The lock of the writing process; nil if the file is read-only.
  private let lock: (any FileLock)?
  /// Nil once the file is closed.
  private let pins: Guarded<Pins?>
  private let hasGivenLock = Atomic<Bool>(false)

  init(of opened: DatabaseFile.Opened) {
    device = opened.device
    lock = opened.fileLock
    pins = Guarded(Pins(file: FilePin(opened.mapping, on: opened.device)))
  }

  /// The pin for a version that is created now; nil if the file is closed.
  var pin: (any AnyObject & Sendable)? {
    pins.withLock { pins in
      guard let pins else { return nil }
      return pins.records ?? pins.file
    }
  }

  /// Declares that versions created after this call do not need log records before `floor`.
  func requireRecords(from floor: UInt64) {
    guard let cache = device.cache else { return }
    // Releasing the old pins frees memory, so it happens outside the lock.
    let old = pins.withLock { pins in
      defer { pins = pins.map { Pins(file: $0.file, records: LogPin($0.file, cache, floor)) } }
      return pins
    }
    withExtendedLifetime(old) {}
  }

  /// Whether another `DatabaseFile` has the writer lock, so that closing this file does not release
  /// it.
  var isLockElsewhere: Bool {
    get { hasGivenLock.load(ordering: .sequentiallyConsistent) }
    nonmutating set { hasGivenLock.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// Releases the locks and the file. The device stays open, and locked for reading, as long as a
  /// pin is retained anywhere. Does nothing the second time.
  func end() {
    let lock = isLockElsewhere ? nil : lock
    guard var last = pins.withLock({ $0.take() }) else { return }
    last.records = nil
    if isKnownUniquelyReferenced(&last.file) {
      device.close(releasing: lock)
    } else if let lock {
      // In a forked child the locks belong to the parent.
      if lock.isOwnedByThisProcess { last.file.leave(lock) } else { lock.unlock() }
    }
  }
}

/// A pin on an open file. Everything that may read the file's mapping retains it: the
/// `DatabaseFile`, and each version created from it.
///
/// A writer punches dead blocks, which then read as zeros in every mapping. It spares the blocks
/// that versions of its store still use, and does not punch while another process or store has
/// locked the file for reading. Therefore the read lock must be held as long as the mapping is
/// read. That can be longer than the `DatabaseFile` is open: a scan continues while its store is
/// closed.
///
/// ```
/// open     held by its `DatabaseFile`   a writing one knows its versions; a reading one has locked
///                                       the file
/// left     held only by versions        locked for reading; another one may open it for writing
/// closed   no longer held               the device is closed, which releases its locks
/// ```
///
/// Thread safety: any thread.
final class FilePin: Sendable {
  private let mapping: MappedFile
  private let device: any Device
  /// The writer lock, which is kept if the read lock could not be taken, so that other processes
  /// cannot write.
  private let writerLock = Guarded<(any FileLock)?>(nil)

  init(_ mapping: MappedFile, on device: any Device) {
    self.mapping = mapping
    self.device = device
  }

  deinit { device.close(releasing: writerLock.withLock { $0 }) }

  /// Moves from "open" to "left" for a writing `DatabaseFile`: takes over the writer lock and
  /// releases it once the read lock is held.
  func leave(_ lock: any FileLock) {
    do throws(StorageError) {
      try device.lockForReading()
      device.unlockWriting()
      lock.unlock()
    } catch {
      writerLock.withLock { $0 = lock }
    }
  }
}

extension Device {
  /// Closes a file that nobody writes to any more, then releases the writer lock.
  ///
  /// A call that another thread still has in flight keeps the descriptor open, and with it the lock
  /// on the file itself. That lock is released first, so that it is free for the next owner of the
  /// writer lock.
  func close(releasing lock: (any FileLock)?) {
    // In a forked child the locks belong to the parent.
    if let lock, lock.isOwnedByThisProcess { unlockWriting() }
    close()
    lock?.unlock()
  }
}

/// A pin on a file that is read through a `PageCache`, retained by the versions made from it. It
/// also pins the log records that their write buffers refer to.
final class LogPin: Sendable {
  private let file: FilePin
  private let cache: PageCache
  private let floor: UInt64

  /// - Parameter floor: the offset of the first record that may be needed.
  init(_ file: FilePin, _ cache: PageCache, _ floor: UInt64) {
    self.file = file
    self.cache = cache
    self.floor = floor
    cache.pin(from: floor)
  }

  deinit { cache.unpin(from: floor) }
}
