import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// The offsets up to which this process was told that its files are durable, of files whose writing
/// ended with a failure.
///
/// A file usually contains this floor itself: each frame and root slot names the offset before
/// which everything is durable. But after a failure nothing more is written, so no byte of the file
/// shows that its last commits were acknowledged. If the disk has lost them although it confirmed
/// them, the next open of the file in this process detects the loss by this floor.
///
/// Thread safety: any thread.
enum PromisedFloors {
  private struct File: Hashable {
    let identity: FileIdentity
    let first: UInt64
    let last: UInt64

    init(_ device: any Device, _ header: FileHeader) {
      identity = device.identity
      (first, last) = header.fileID
    }
  }

  private static let floors = Guarded<[File: UInt64]>([:])

  /// Remembers the floor of a file that is closed after a failure.
  static func keep(_ floor: UInt64, of device: any Device, _ header: FileHeader) {
    floors.withLock { $0[File(device, header)] = floor }
  }

  /// Returns the floor of a file, and forgets it: a loss is reported once, and the next open
  /// continues without those commits. 0 if there is none.
  static func take(of device: any Device, _ header: FileHeader) -> UInt64 {
    floors.withLock { $0.removeValue(forKey: File(device, header)) ?? 0 }
  }
}
