import LatewoodBytes
import LatewoodConcurrency

/// The live versions, which the writer checks before it frees nodes that an old version may still
/// reach.
///
/// Adding a version costs O(1), and removing one O(log of the live versions), amortized.
///
/// Thread safety: any thread. Readers only remove numbers; only the writer frees nodes.
package final class VersionRegistry: Sendable {
  private struct Entry {
    var number: UInt64
    var transaction: UInt64
    /// The number of live versions with this number.
    var count: Int
  }

  private struct State {
    /// Ascending by number.
    var entries: [Entry] = []
    /// The number of entries without a live version: none if there are few entries, and never more
    /// than half of them.
    var ended = 0

    /// Removes the entry at an index, or counts it as ended.
    mutating func end(at index: Int) {
      guard entries.count >= VersionRegistry.manyEntries else {
        entries.remove(at: index)
        return
      }
      ended += 1
      if 2 * ended > entries.count {
        entries.removeAll { $0.count == 0 }
        ended = 0
      }
    }
  }

  /// From this number of entries on, an entry is not removed by moving all later ones.
  private static let manyEntries = 32

  private let state = Guarded(State())

  package init() {}

  /// Adds a version. Its number must be at least that of every earlier one.
  func add(_ number: UInt64, transaction: UInt64) {
    state.withLock { state in
      if let last = state.entries.indices.last, state.entries[last].number == number {
        if state.entries[last].count == 0 { state.ended -= 1 }
        state.entries[last].count += 1
      } else {
        state.entries.append(Entry(number: number, transaction: transaction, count: 1))
      }
    }
  }

  func remove(_ number: UInt64) {
    state.withLock { state in
      var low = 0
      var high = state.entries.count
      while low < high {
        let middle = (low + high) / 2
        if state.entries[middle].number < number { low = middle + 1 } else { high = middle }
      }
      guard low < state.entries.count, state.entries[low].number == number else { return }
      state.entries[low].count -= 1
      if state.entries[low].count == 0 { state.end(at: low) }
    }
  }

  /// The numbers of the live versions, ascending. O(live versions).
  var live: [UInt64] {
    state.withLock { state in
      if state.ended == 0 { return state.entries.map(\.number) }
      return state.entries.compactMap { $0.count > 0 ? $0.number : nil }
    }
  }

  /// The number of different numbers of live versions.
  var count: Int { state.withLock { $0.entries.count - $0.ended } }
}
