import LatewoodBytes
import LatewoodInspection

/// The space that a file takes at one moment, divided as by `info`, `map` and `size`.
///
/// The store's own `logBytes` is everything after the replay offset, including the nodes of
/// checkpoints there, which are live or dead: in a file that was just closed, they can make up most
/// of `logBytes`.
struct SpaceSample {
  let fileBytes: UInt64
  let allocatedBytes: UInt64
  let liveBytes: UInt64
  let logBytes: UInt64
  let hasWriter: Bool
  /// Everything that is neither live nor log, without header and slots.
  let deadBytes: UInt64

  init(at path: String) throws {
    let file = try InspectedFile.opened(at: path)
    defer { file.close() }
    fileBytes = file.size
    allocatedBytes = try file.allocatedSize()
    // The numbers in the file are untrusted.
    liveBytes = min(file.checkpoint?.record.root?.liveBytes ?? 0, file.size)
    logBytes = try file.unmergedBytes()
    hasWriter = try file.hasWriter()
    let rest = fileBytes - min(fileBytes, SizeSavings.fixedBytes + logBytes)
    deadBytes = rest - min(rest, liveBytes)
  }
}
