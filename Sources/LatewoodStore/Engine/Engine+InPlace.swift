import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile

extension Engine {
  /// Does the part of a compaction that needs no space for a new file; see `mergeAndGiveBack`.
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
    let isAny = try mergeAndGiveBack()
    report.bytesAfter = try log.device.allocatedSize()
    report.duration = (MonotonicClock.nanoseconds - began) / 1000
    guard isAny else { throw fault }
    return report
  }
}
