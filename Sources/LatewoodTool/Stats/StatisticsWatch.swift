import LatewoodConcurrency
import LatewoodFleece
import LatewoodStore

/// Samples a database that another process may be writing, and reports the changes between samples.
struct StatisticsWatch {
  private let database: Database
  private var before: (statistics: Statistics, nanoseconds: UInt64, checkpoint: UInt64)?
  private var checkpoints: UInt64 = 0
  private var compactions: UInt64 = 0

  init(_ database: Database) { self.database = database }

  mutating func sample() throws -> StatisticsSample {
    try database.store.refresh()
    let now = MonotonicClock.nanoseconds
    let statistics = try database.store.statistics()
    let history = try database.store.history()
    var sample = StatisticsSample(
      statistics: statistics, space: try SpaceSample(at: database.path),
      time: Environment.system.now())
    if let before {
      let isSameFile = before.statistics.fileID == statistics.fileID
      let seconds = Double(max(now &- before.nanoseconds, 1)) / 1e9
      let transactions = statistics.transaction - min(statistics.transaction, before.statistics.transaction)
      sample.commitsPerSecond = UInt64((Double(transactions) / seconds).rounded())
      // The bytes of a new file were copied by a compaction; later commits are in its log.
      let appended =
        isSameFile
        ? statistics.logEnd - min(statistics.logEnd, before.statistics.logEnd) : statistics.logBytes
      sample.bytesPerSecond = UInt64((Double(appended) / seconds).rounded())
      checkpoints += UInt64(
        history.count { !isSameFile ? !$0.isCompaction : $0.offset > before.checkpoint })
      compactions += isSameFile ? 0 : 1
    }
    (sample.checkpoints, sample.compactions) = (checkpoints, compactions)
    before = (statistics, now, history.first?.offset ?? 0)
    return sample
  }
}

/// One sample of a database.
struct StatisticsSample {
  var statistics: Statistics
  var space: SpaceSample
  /// Microseconds since 1970-01-01 00:00 UTC.
  var time: UInt64
  /// Nil in the first sample.
  var commitsPerSecond: UInt64?
  var bytesPerSecond: UInt64?
  /// The number since the watch began.
  var checkpoints: UInt64 = 0
  var compactions: UInt64 = 0

  private static let widths = [8, 11, 13, 11, 11, 6, 11, 5, 4]

  private static func row(_ columns: [String]) -> String {
    zip(columns, widths).map { DisplayWidth.padded($0, to: $1, right: true) }.joined()
  }

  static let heading = row(["UTC", "commits/s", "bytes/s", "size", "live", "dead", "log", "chk", "cpt"])

  /// One line of a watch, in 80 columns.
  var row: String {
    let clock = Timestamp.shown(microseconds: time).suffix(8)
    return Self.row([
      String(clock), commitsPerSecond.map { Quantity.count($0) } ?? "-",
      bytesPerSecond.map { Quantity.bytes($0) } ?? "-", Quantity.bytes(space.fileBytes),
      Quantity.bytes(space.liveBytes), Quantity.share(space.deadBytes, of: space.fileBytes),
      Quantity.bytes(space.logBytes), "\(checkpoints)", "\(compactions)",
    ])
  }

  func fields(path: String) -> [(name: String, value: String)] {
    [
      ("file", KeyText.shown(path.utf8)), ("id", statistics.fileID),
      ("open for writing", space.hasWriter ? "yes" : "no"),
      ("transaction", Quantity.count(statistics.transaction)),
      (
        "checkpoint",
        statistics.checkpointTransaction == 0
          ? "none yet" : "of transaction \(Quantity.count(statistics.checkpointTransaction))"
      ),
      ("size", Quantity.bytes(space.fileBytes)), ("on disk", Quantity.bytes(space.allocatedBytes)),
      ("live", Quantity.bytes(space.liveBytes)),
      (
        "dead",
        "\(Quantity.bytes(space.deadBytes)), \(Quantity.share(space.deadBytes, of: space.fileBytes))"
      ),
      ("log", "\(Quantity.bytes(space.logBytes)) since the checkpoint"),
      ("entries", "\(Quantity.count(statistics.entries)) in the checkpoint"),
      ("changes", "\(Quantity.count(statistics.pendingEntries)) keys since the checkpoint"),
    ]
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("time", Timestamp.exact(microseconds: time))
    writer.member("transaction", statistics.transaction)
    writer.optional("commitsPerSecond", commitsPerSecond)
    writer.optional("bytesPerSecond", bytesPerSecond)
    writer.member("fileBytes", space.fileBytes)
    writer.member("allocatedBytes", space.allocatedBytes)
    writer.member("liveBytes", space.liveBytes)
    writer.member("deadBytes", space.deadBytes)
    writer.member("logBytes", space.logBytes)
    writer.member("entries", statistics.entries)
    writer.member("pendingEntries", statistics.pendingEntries)
    writer.member("checkpointTransaction", statistics.checkpointTransaction)
    writer.member("checkpoints", checkpoints)
    writer.member("compactions", compactions)
    writer.member("isOpenForWriting", space.hasWriter)
    writer.member("fileID", statistics.fileID)
    writer.endDictionary()
  }
}
