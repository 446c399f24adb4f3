import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodFleece
import LatewoodInspection
import LatewoodStore

/// The information that `info` reads from the file itself, in addition to the store's: header,
/// slots, log, and some nodes of the tree. The amount read does not depend on the size of the file.
struct FileLayoutFacts {
  let databaseID: String
  /// The ciphers of an encrypted file; nil for any other.
  let suite: CipherSuite?
  let hasWriter: Bool
  let durableThrough: UInt64
  let logEnd: UInt64
  let newestCommit: UInt64
  let fillPercent: Int
  private let checkpointTime: UInt64?
  private let checkpointOffset: UInt64?
  /// The length of the commits that no checkpoint contains. (The store's `logBytes` includes
  /// everything after the replay offset, even the nodes of checkpoints.)
  let logBytes: UInt64
  /// The number of bytes that are no longer or not yet in use.
  let deadBytes: UInt64
  /// The bytes after the log that were not searched for frames; nil if all were.
  let unsearched: Range<UInt64>?
  private let tree: TreeEstimate
  private let fixedBytes: UInt64

  init(at path: String, on volume: any Volume = FileVolume()) throws {
    let file = try InspectedFile.opened(at: path, on: volume, badBlocks: .readAsZeros)
    defer { file.close() }
    let root = file.checkpoint?.record.root
    logBytes = try file.unmergedBytes()
    hasWriter = try file.hasWriter()
    tree = TreeEstimate(root, file.units)
    faults = [file.unreadableCheckpoint].compactMap(\.self) + tree.faults
    fixedBytes = min(file.size, FileLayout.logStart)
    // The numbers in the file are untrusted.
    let (used, overflow) = (fixedBytes &+ logBytes).addingReportingOverflow(root?.liveBytes ?? 0)
    deadBytes = overflow ? 0 : file.size - min(file.size, used)
    unsearched = file.log.unsearched
    databaseID = file.databaseID
    suite = file.suite
    durableThrough = min(file.log.durableThrough, file.size)
    logEnd = min(file.log.end.offset, file.size)
    newestCommit = file.log.newestTransaction
    fillPercent = tree.fillPercent
    checkpointTime = file.checkpoint?.record.time
    checkpointOffset = file.checkpoint?.offset
  }

  /// The offset and time of the newest checkpoint.
  var checkpoint: String? {
    checkpointOffset.map { "\($0), \(Timestamp.shown(microseconds: checkpointTime ?? 0)) UTC" }
  }

  /// The faults of the newest checkpoint, and of the nodes that were read.
  let faults: [StorageError]

  func bytes(ofKeyspace number: UInt32) -> UInt64 { tree.bytes[number] ?? 0 }

  /// Estimates the bytes on the disk that a compaction saves, only from counters. The log counts as
  /// live, so that the estimate is too low rather than too high.
  ///
  /// - Parameter reclaimable: the bytes of bodies of old revisions.
  func compactionSaves(_ statistics: Statistics, reclaimable: UInt64) -> UInt64 {
    let live = statistics.liveBytes &+ logBytes
    let after = fixedBytes &+ (live - min(live, reclaimable))
    return statistics.allocatedSize - min(statistics.allocatedSize, after)
  }

  func write(_ statistics: Statistics, reclaimable: UInt64, to writer: inout JSONOutput) {
    writer.member("databaseID", databaseID)
    writer.key("checkpointTime")
    if let checkpointTime {
      writer.text(Timestamp.exact(microseconds: checkpointTime))
    } else {
      writer.null()
    }
    writer.optional("checkpointOffset", checkpointOffset)
    writer.member("newestCommit", newestCommit)
    writer.member("durableThrough", durableThrough)
    writer.member("hasWriter", hasWriter)
    writer.member("compactionSaves", compactionSaves(statistics, reclaimable: reclaimable))
    writer.member("unsearchedBytes", unsearched?.count ?? 0)
    writer.member("fillPercent", fillPercent)
  }
}
