import LatewoodBytes
import LatewoodDevice

/// An open file as all share it who may read its mapping: the log, and each version that was made
/// from it.
///
/// What a mapping shows can be taken away under its readers: a writer gives dead blocks of the file
/// back. It spares what versions of its own store still show, and gives nothing back while anybody
/// else has locked the file for reading. So that lock must last as long as the mapping is read,
/// which can be longer than the log is open: a scan goes on while its store is closed.
///
/// ```
/// open     the log has it          a log that writes knows its versions; one that reads has locked the file
/// left     only versions have it   the file is locked for reading; another log may be opened to write to it
/// over     nobody has it           the file is closed, which gives its locks back
/// ```
///
/// Thread safety: any thread.
final class FileUse: Sendable {
  private let mapping: MappedFile
  private let device: any Device
  /// The writer's lock, where that of readers was not to be had: then nobody else may write.
  private let writerLock = Guarded<(any FileLock)?>(nil)

  init(_ mapping: MappedFile, on device: any Device) {
    self.mapping = mapping
    self.device = device
  }

  deinit {
    device.close()
    writerLock.withLock { $0 }?.unlock()
  }

  /// Goes from "open" to "left" for a log that wrote. It takes over the writer's lock, and gives it
  /// back as soon as it may.
  func leave(_ lock: any FileLock) {
    do throws(Fault) {
      try device.lockForReading()
      device.unlockWriting()
      lock.unlock()
    } catch {
      writerLock.withLock { $0 = lock }
    }
  }
}
