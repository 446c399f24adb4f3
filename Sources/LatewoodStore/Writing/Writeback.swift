import Dispatch
import LatewoodFile
import Synchronization

/// Requests the system to write cached pages of the log before a sync has to wait for them: 8 MiB
/// at a time, on a separate thread, because the call blocks while the disk is busy.
///
/// Thread safety: all methods may be called from any thread.
final class Writeback: Sendable {
  private static let step: UInt64 = 8 << 20

  /// The offset up to which writing has been requested.
  private let through = Atomic<UInt64>(0)
  private let queue = DispatchQueue(label: "latewood.writeback", qos: .utility)

  /// Starts at an offset of a new file.
  func restart(at offset: UInt64) { through.store(offset, ordering: .relaxed) }

  /// Requests writing of the log up to `end`, if enough of it is new.
  func advance(_ file: DatabaseFile, through end: UInt64) {
    let start = through.load(ordering: .relaxed)
    guard end > start, end - start >= Writeback.step,
      through.compareExchange(expected: start, desired: end, ordering: .relaxed).exchanged
    else { return }
    queue.async { file.device.startWriteback(offset: start, length: end - start) }
  }
}
