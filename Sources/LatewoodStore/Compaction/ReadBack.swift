import Dispatch
import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodTree

/// Reads a new file back from the disk and proves it, behind the thread that writes it.
///
/// ```
/// writing thread    region | region | region | region ...
///                      add \      add \
/// this one                  sync, read, check | ...          one region behind: blocks that are written again prove nothing
/// finish                                           the rest, when all has been synced
/// ```
///
/// If the system has no reads past its cache, or gives it no thread, `finish` does what is left to do.
///
/// Thread safety: `add`, `finish` and `stop` from the thread that writes the file.
// SAFETY: `state` is only touched with the monitor held; `proof` only by who has set `isBusy`.
final class ReadBack: @unchecked Sendable {
  private struct State {
    /// Regions that are written and not proved yet, in order.
    var regions: ArraySlice<Range<UInt64>> = []
    /// Below it nothing will be written again.
    var limit: UInt64 = 0
    /// How far the system has been asked to start writing the file to the disk.
    var writtenBack = FileLayout.logStart
    var isBusy = false
    var isStopped = false
    var isImpossible = false
    var fault: Fault?
    /// A region that can be proved now.
    var next: Range<UInt64>? { regions.first.flatMap { $0.upperBound <= limit ? $0 : nil } }
  }

  private let monitor = Monitor()
  private var state = State()
  private let proof: TreeProof
  private let device: any Device

  init(_ file: LogFile) {
    let device = file.device
    self.device = device
    proof = TreeProof(seed: file.header.seed) { (target, offset) throws(Fault) in
      guard let count = try device.readFromDisk(into: target, at: offset) else { throw ReadBack.impossible }
      return count
    }
  }

  func start() { BackgroundThread.run { self.run() } }

  private static let impossible = Fault(.unsupported, "there are no reads past the cache here")

  private func run() {
    monitor.withLock {
      while !state.isStopped, state.fault == nil, !state.isImpossible {
        if !state.isBusy, let region = state.next { prove(region) } else { monitor.wait() }
      }
    }
  }

  /// Called, and returns, with the monitor held.
  private func prove(_ region: Range<UInt64>) {
    let limit = state.limit
    // What was added last is on its way to the disk while this one is read.
    let unwritten = limit < .max && limit > state.writtenBack ? state.writtenBack..<limit : nil
    state.writtenBack = max(state.writtenBack, limit)
    state.isBusy = true
    state.regions.removeFirst()
    monitor.unlock()
    var fault: Fault?
    if let unwritten { device.startWriteback(offset: unwritten.lowerBound, length: UInt64(unwritten.count)) }
    do throws(Fault) { try proof.take(region, below: limit) } catch { fault = error }
    monitor.lock()
    state.isBusy = false
    if fault?.kind == .unsupported {
      state.isImpossible = true
    } else {
      state.fault = state.fault ?? fault
    }
    monitor.broadcast()
  }

  /// A region was written, and all before it. Throws what was found to be wrong with others.
  func add(_ region: Range<UInt64>) throws(Fault) {
    let isPossible = try monitor.withLock { () throws(Fault) in
      if let fault = state.fault { throw fault }
      if state.isImpossible { return false }
      state.regions.append(region)
      // The block that it ends in will be written again.
      state.limit = region.upperBound & ~UInt64(directAlignment - 1)
      if state.next != nil { monitor.broadcast() }
      return true
    }
    // To read waits until all is written. Where nothing reads, the system is told to begin, or all is left to the sync at the end.
    if !isPossible {
      device.startWriteback(offset: region.lowerBound, length: region.upperBound - region.lowerBound)
    }
  }

  /// Proves the rest. All of the file has been synced.
  ///
  /// - Parameter step: called after each region.
  /// - Returns: false if the file could not be read so.
  func finish(_ root: Subtree?, step: () throws(Fault) -> Void) throws(Fault) -> Bool {
    while true {
      let isDone = try monitor.withLock { () throws(Fault) in
        state.limit = .max
        if !state.isBusy, let region = state.next { prove(region) } else if state.isBusy { monitor.wait() }
        if let fault = state.fault { throw fault }
        return state.isImpossible || (!state.isBusy && state.next == nil)
      }
      if isDone { break }
      try step()
    }
    if monitor.withLock({ state.isImpossible }) { return false }
    try proof.finish(root)
    return true
  }

  /// Nothing is read any more once this has returned.
  func stop() {
    monitor.withLock {
      state.isStopped = true
      monitor.broadcast()
      while state.isBusy { monitor.wait() }
    }
  }
}
