import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Walks a tree ahead of whoever copies it, so that the system has its nodes and extents in memory
/// when they are asked for.
///
/// What it finds to be damaged it leaves for the one that copies to find: nothing depends on how
/// far it came, or whether it ran.
///
/// Thread safety: `run` on a thread of its own; the rest from the thread that copies.
// SAFETY: `state` is only touched with the monitor held; the walk reads what never changes.
package final class ReadAhead: @unchecked Sendable {
  /// How far it may be ahead, in bytes of old tree.
  private static let reach: UInt64 = 4 << 20

  private struct State {
    var walked: UInt64 = 0
    var taken: UInt64 = 0
    var isRunning = false
    var isWaiting = false
    var isStopped = false
    var isFull: Bool { walked >= taken + ReadAhead.reach }
    /// Less often than each leaf: to be woken takes longer than to read one.
    var isLow: Bool { walked <= taken + ReadAhead.reach / 2 }
  }

  private let base: Subtree?
  private let file: FileView
  private let monitor = Monitor()
  private var state = State()

  /// - Parameter base: the tree; whoever calls keeps its file mapped until `stop` has returned.
  package init(_ base: Subtree?, in file: FileView) {
    self.base = base
    self.file = file
  }

  /// Returns at the end of the tree, where it is damaged, or when it was stopped.
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
        try reads.eachPiece(of: value) { _ in }
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

  /// So much more of the old tree has been copied.
  package func didTake(_ bytes: UInt64) {
    monitor.withLock {
      state.taken += bytes
      if state.isWaiting, state.isLow { monitor.broadcast() }
    }
  }

  /// Nothing is read any more once this has returned.
  package func stop() {
    monitor.withLock {
      state.isStopped = true
      monitor.broadcast()
      while state.isRunning { monitor.wait() }
    }
  }
}
