import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Walks a tree ahead of the thread that copies it, so that its nodes and extents are in the
/// system's cache when they are needed.
///
/// It leaves damage for the copying thread to find. Nothing depends on how far it gets, or whether
/// it runs at all.
///
/// Thread safety: `run` on a separate thread; everything else from the copying thread.
// SAFETY: `state` is only touched with the monitor held; the walk reads only immutable data.
package final class ReadAhead: @unchecked Sendable {
  /// The greatest distance that it may be ahead, in bytes of the old tree.
  private static let reach: UInt64 = 4 << 20

  private struct State {
    var walked: UInt64 = 0
    var taken: UInt64 = 0
    var isRunning = false
    var isWaiting = false
    var isStopped = false
    var isFull: Bool { walked >= taken + ReadAhead.reach }
    /// Whether to wake the walk. Not after each leaf, because waking takes longer than reading one.
    var isLow: Bool { walked <= taken + ReadAhead.reach / 2 }
  }

  private let base: Subtree?
  private let file: FileView
  private let monitor = Monitor()
  private var state = State()

  /// - Parameter base: the tree, whose file the caller keeps mapped until `stop` has returned.
  package init(_ base: Subtree?, in file: FileView) {
    self.base = base
    self.file = file
  }

  /// Walks until the end of the tree, damage, or a call of `stop`.
  package func run() {
    let mayRun = monitor.withLock {
      state.isRunning = !state.isStopped
      return state.isRunning
    }
    guard mayRun else { return }
    do throws(Fault) { try walk() } catch {}
    monitor.withLock {
      state.isRunning = false
      monitor.broadcast()
    }
  }

  private func walk() throws(Fault) {
    let reads = CheckedReads(NodeSource(file: file))
    try reads.eachLeaf(under: base) { copy throws(Fault) in
      let leaf = copy.node
      var length = UInt64(leaf.length)
      for index in 0..<leaf.count {
        let value = leaf.entry(index).value
        guard value.isExtent else { continue }
        length += UInt64(value.length)
        try reads.fetch(value)
      }
      return mayGoOn(after: length)
    }
  }

  private func mayGoOn(after length: UInt64) -> Bool {
    monitor.withLock {
      state.walked += length
      if state.isFull {
        state.isWaiting = true
        while !state.isLow, !state.isStopped { monitor.wait() }
        state.isWaiting = false
      }
      return !state.isStopped
    }
  }

  /// Notes that more bytes of the old tree have been copied.
  package func didTake(_ bytes: UInt64) {
    monitor.withLock {
      state.taken += bytes
      if state.isWaiting, state.isLow { monitor.broadcast() }
    }
  }

  /// Stops the walk and waits for its end.
  package func stop() {
    monitor.withLock {
      state.isStopped = true
      monitor.broadcast()
      while state.isRunning { monitor.wait() }
    }
  }
}
