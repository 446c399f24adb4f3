import Synchronization

/// The numbers of the live versions, which the writer checks before it frees nodes that an old
/// version may still reach.
///
/// A version holds a `LiveVersion` and ends it with a store, so that readers, which release the last
/// references to old versions, never wait. Ended ones are removed when others are added: adding
/// costs O(1), amortized, and at most half of a long list has ended.
///
/// A plain value; the publisher of versions guards it.
package struct LiveVersions {
  /// Ended entries are not removed before there are this many.
  private static let leastLimit = 8

  /// Ascending by number.
  private var entries: [LiveVersion] = []
  /// The number of entries at which ended ones are removed.
  private var limit = leastLimit

  package init() {}

  /// Adds a version. Its number must be at least that of every earlier one.
  package mutating func add(_ number: UInt64) -> LiveVersion {
    if entries.count >= limit {
      entries.removeAll { $0.hasEnded }
      limit = max(LiveVersions.leastLimit, 2 * entries.count)
    }
    let entry = LiveVersion(number)
    entries.append(entry)
    return entry
  }

  /// The different numbers of the live versions, ascending. O(live versions).
  package var numbers: [UInt64] {
    var numbers: [UInt64] = []
    numbers.reserveCapacity(entries.count)
    for entry in entries where !entry.hasEnded && numbers.last != entry.number {
      numbers.append(entry.number)
    }
    return numbers
  }

  /// Returns `numbers`, or nil in O(1) if looking at all entries would take more than `most` steps.
  package func numbers(lookingAtMost most: Int) -> [UInt64]? { entries.count <= most ? numbers : nil }
}

/// The entry of one version in `LiveVersions`.
package final class LiveVersion: Sendable {
  let number: UInt64
  private let ended = Atomic<Bool>(false)

  fileprivate init(_ number: UInt64) { self.number = number }

  /// Whether no reader can use the version any more. A thread that finds that may change what the
  /// version has referred to.
  fileprivate var hasEnded: Bool { ended.load(ordering: .acquiring) }

  package func end() { ended.store(true, ordering: .releasing) }
}
