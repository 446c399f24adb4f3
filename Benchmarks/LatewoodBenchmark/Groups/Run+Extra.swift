import LatewoodStore

/// The parts of group `extra`: promises of Latewood that common workloads do not measure.
enum ExtraPart: String, CaseIterable {
  case oneCommit = "onecommit"
  case besideSync = "besidesync"
  case queued = "queued"
  case snapshotHeldFew = "snapshot-held-1k"
  case snapshotHeldMany = "snapshot-held-100k"
  case deleteRange = "deleterange"
  case count = "count"
  case twoThreads = "twothreads"
  case reading = "reading"
  case compaction = "compaction"
  case opening = "opening"
  case recover = "recover"
  /// The process started by `recover`.
  case recoverVictim = "recover-victim"
  case valueSizes = "valuesizes"
  /// The processes started by `valuesizes`.
  case valueSizesVictim = "valuesizes-victim"

  /// Whether the part is a process that another part starts and that kills itself.
  var isVictim: Bool { self == .recoverVictim || self == .valueSizesVictim }

  static var names: String {
    allCases.filter { !$0.isVictim }.map(\.rawValue).joined(separator: ", ")
  }

  /// Returns whether a group is one of these parts.
  static func isInside(_ group: String) -> Bool { ExtraPart(rawValue: group) != nil }

  /// Returns whether the files of a group must stay for another process.
  static func leavesFiles(_ group: String) -> Bool { ExtraPart(rawValue: group)?.isVictim == true }
}

extension Run where Engine == LatewoodEngine {
  /// Runs a group that only this engine has, or one part of `extra`. Returns false for other
  /// groups.
  func extraGroup(_ group: String) throws -> Bool {
    if group == "extra" {
      try runAllParts()
      return true
    }
    if group == "bounded" {
      try boundedGroup()
      return true
    }
    if group == "documents" {
      try documentsGroup()
      return true
    }
    if group == "queries" {
      try queriesGroup()
      return true
    }
    if group == "instructions" {
      try instructionsGroup()
      return true
    }
    if group == "blob" {
      try blobGroup()
      return true
    }
    if group == "snapshots" {
      try snapshotsGroup()
      return true
    }
    if group == "keyspaces" {
      try keyspacesGroup()
      return true
    }
    guard let part = ExtraPart(rawValue: group) else { return false }
    switch part {
    case .oneCommit: try oneCommit()
    case .besideSync: try besideSync()
    case .queued: try queued()
    case .snapshotHeldFew: try snapshotHeld(distinct: 1000, part.rawValue)
    case .snapshotHeldMany: try snapshotHeld(distinct: 100_000, part.rawValue)
    case .deleteRange: try deleteRange()
    case .count: try counting()
    case .twoThreads: try twoThreads()
    case .reading: try reading()
    case .compaction: try compaction()
    case .opening: try opening()
    case .recover: try recover()
    case .recoverVictim: try writeAndDie()
    case .valueSizes: try valueSizes()
    case .valueSizesVictim: try overwriteAndDie()
    }
    return true
  }

  /// Runs each part in a separate process: memory left behind by one part would be missing in the
  /// growth of the next.
  private func runAllParts() throws {
    for part in ExtraPart.allCases where !part.isVictim {
      let outcome = ChildProcess.run(options.arguments(group: part.rawValue))
      report.require(part.rawValue, "\(outcome)", "exited(0)", outcome == .exited(0))
    }
  }

  /// Runs `count` operations in transactions of `size`, then a flush. All threads share the engine,
  /// so it is its own session.
  @inline(__always) func writeBatches(
    _ count: UInt64, of size: UInt64, to engine: Engine,
    _ operation: (inout Engine.Session.Writer, UInt64) throws -> Void
  ) throws -> (longest: Double, flush: Double) {
    try writeBatches(count, of: size, to: engine, of: engine, operation)
  }

  /// Fills an empty database with the keys 0..<count, and merges all of them into the tree.
  func filled(_ count: UInt64, _ storeOptions: (inout Store.Options) -> Void = { _ in }) throws
    -> LatewoodEngine
  {
    let engine = try openEmpty()
    try Scratch.use(valueLength: options.valueLength) { scratch in
      _ = try writeBatches(count, of: 1000, to: engine) { writer, number in
        try writer.put(scratch.key(number), scratch.value(number, 0))
      }
    }
    try engine.close()
    var chosen = Store.Options()
    chosen.durability = .relaxed
    storeOptions(&chosen)
    return try LatewoodEngine.open(in: options.directory, chosen)
  }
}
