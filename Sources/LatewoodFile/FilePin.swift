import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

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
  /// on the file itself. That lock goes first: whoever gets the writer lock must find it free.
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
