import LatewoodBytes
import LatewoodConcurrency

/// The live versions, which the writer checks before it frees nodes that an old version may still
/// reach.
///
/// Thread safety: any thread. Readers only remove numbers; only the writer frees nodes.
package final class VersionRegistry: Sendable {
  private struct Entry {
    var number: UInt64
    var transaction: UInt64
    var count: Int
  }
  private let entries = Guarded<[Entry]>([])

  package init() {}

  /// Adds a version. Its number must be at least that of every earlier one.
  func add(_ number: UInt64, transaction: UInt64) {
    entries.withLock { entries in
      if let last = entries.indices.last, entries[last].number == number {
        entries[last].count += 1
      } else {
        entries.append(Entry(number: number, transaction: transaction, count: 1))
      }
    }
  }

  func remove(_ number: UInt64) {
    entries.withLock { entries in
      var low = 0
      var high = entries.count
      while low < high {
        let middle = (low + high) / 2
        if entries[middle].number < number { low = middle + 1 } else { high = middle }
      }
      guard low < entries.count, entries[low].number == number else { return }
      entries[low].count -= 1
      if entries[low].count == 0 { entries.remove(at: low) }
    }
  }

  /// The numbers of the live versions, ascending.
  var live: [UInt64] { entries.withLock { $0.map(\.number) } }
}
