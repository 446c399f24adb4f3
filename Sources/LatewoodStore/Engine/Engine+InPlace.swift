import LatewoodBytes
import LatewoodDevice
import LatewoodFile

extension Engine {
  /// Does the part of a compaction that needs no space for a new file: gives back every block that
  /// is known to be dead, however few there are. Writes a checkpoint in between, which makes more
  /// blocks dead, if there is enough space for it.
  ///
  /// Throws `fault` if no block could be given back.
  func giveBackInPlace(insteadOf fault: Fault) throws(Fault) -> CompactionReport {
    let began = MonotonicClock.nanoseconds
    var report = CompactionReport()
    report.isInPlace = true
    checkpointing.lock()
    defer { checkpointing.unlock() }
    let log = log
    report.bytesBefore = try log.device.allocatedSize()
    let given = punching.withLock { $0.punchedBytes }
    try punchDead(least: 1)
    do throws(Fault) {
      try writeCheckpoint(isForced: false)
      frozenBytes.store(0, ordering: .relaxed)
    } catch {
      // Blocks that were dead before have been given back all the same.
      guard error.kind == .outOfSpace else { throw error }
    }
    try punchDead(least: 1)
    report.bytesAfter = try log.device.allocatedSize()
    report.duration = (MonotonicClock.nanoseconds - began) / 1000
    guard punching.withLock({ $0.punchedBytes }) > given else { throw fault }
    return report
  }
}
