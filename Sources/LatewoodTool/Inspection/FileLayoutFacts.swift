import LatewoodBytes
import LatewoodInspection
import LatewoodStore

/// The information that `info` reads from the file itself, besides that of the store.
struct FileLayoutFacts {
  let databaseID: String
  let hasWriter: Bool
  let durableThrough: UInt64
  let logEnd: UInt64
  let newestCommit: UInt64
  let fillPercent: Int
  private let checkpointTime: UInt64?
  private let checkpointOffset: UInt64?
  private let totals: [Region.Kind: UInt64]
  private let tree: LiveTree

  init(at path: String) throws(Failure) {
    let file = try InspectedFile.opened(at: path)
    defer { file.close() }
    do {
      let map = try FileMap(file)
      totals = map.totals
      tree = map.tree
      hasWriter = try file.hasWriter()
    } catch { throw Failure(error) }
    let id = file.header.header?.databaseID
    databaseID = [id?.first ?? 0, id?.last ?? 0].map { half in
      Hex.encode((0..<8).map { UInt8(truncatingIfNeeded: half >> UInt64(8 * $0)) })
    }.joined()
    durableThrough = min(file.log.durableThrough, file.size)
    logEnd = min(file.log.end.offset, file.size)
    newestCommit = file.log.newestTransaction
    let shape = TreeShape(tree)
    fillPercent = shape.levels.last?.fill(of: shape.nodeSize) ?? 0
    checkpointTime = file.checkpoint?.record.time
    checkpointOffset = file.checkpoint?.offset
  }

  /// The offset and time of the newest checkpoint.
  var checkpoint: String? {
    checkpointOffset.map { "\($0), \(Timestamp.shown(microseconds: checkpointTime ?? 0)) UTC" }
  }

  func bytes(ofKeyspace number: UInt32) -> UInt64 { tree.keyspaces[number]?.bytes ?? 0 }

  /// The length of the commits that no checkpoint contains. (The store's `logBytes` includes
  /// everything after the replay offset, even the nodes of checkpoints.)
  var logBytes: UInt64 { totals[.log] ?? 0 }

  /// The number of bytes that are no longer or not yet in use: the sum of `deadByKind`.
  var deadBytes: UInt64 { totals.reduce(0) { $1.key.isLive ? $0 : $0 &+ $1.value } }

  /// One line for each kind that is not live.
  var deadByKind: [String] {
    Region.Kind.allCases.compactMap { kind in
      guard !kind.isLive, let bytes = totals[kind] else { return nil }
      return DisplayWidth.padded(Quantity.bytes(bytes), to: 12, right: true) + "  " + kind.look.words
    }
  }

  /// Estimates the bytes on the disk that a compaction saves, only from counters. The log counts as
  /// live, so that the estimate is too low rather than too high.
  ///
  /// - Parameter reclaimable: the bytes of bodies of old revisions.
  func compactionSaves(_ statistics: Statistics, reclaimable: UInt64) -> UInt64 {
    let live = statistics.liveBytes &+ logBytes
    let after = (totals[.header] ?? 0) &+ (totals[.slot] ?? 0) &+ (live - min(live, reclaimable))
    return statistics.allocatedSize - min(statistics.allocatedSize, after)
  }

  func write(_ statistics: Statistics, reclaimable: UInt64, to writer: inout JSONWriter) {
    writer.member("databaseID", databaseID)
    writer.name("checkpointTime")
    if let checkpointTime {
      writer.string(Timestamp.exact(microseconds: checkpointTime))
    } else {
      writer.null()
    }
    writer.optional("checkpointOffset", checkpointOffset)
    writer.member("newestCommit", newestCommit)
    writer.member("durableThrough", durableThrough)
    writer.member("hasWriter", hasWriter)
    writer.member("compactionSaves", compactionSaves(statistics, reclaimable: reclaimable))
    writer.name("kinds")
    writer.beginObject()
    for kind in Region.Kind.allCases { writer.member(kind.rawValue, totals[kind] ?? 0) }
    writer.endObject()
    writer.member("fillPercent", fillPercent)
  }
}
