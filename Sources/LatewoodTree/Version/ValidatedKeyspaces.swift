import LatewoodConcurrency
import Synchronization

/// A set of keyspace handles known to refer to an existing keyspace in all states with the same
/// catalog.
///
/// Versions share a set until a keyspace is created or dropped; the next version then starts with
/// an empty one. A copy would cost as much as all keyspaces in use, for each new one and for each
/// version that is kept. A handle is identified by its fingerprint, a hash of the store, the number
/// and the name. It is looked up once in each state of the catalog, and from then on found here,
/// usually in one cache line.
///
/// An open-addressing hash table of fingerprints with linear probing; its length is a power of two,
/// and at most half of it is in use. A full table is replaced, but retained as long as this object,
/// because another thread may be reading it.
///
/// Thread safety: `contains` and `insert` from any thread; `remove` only by a transaction that does
/// not share this object.
// SAFETY: the tables are only accessed atomically, and are freed with this object.
package final class ValidatedKeyspaces: @unchecked Sendable {
  private typealias Words = UnsafeMutablePointer<Atomic<UInt64>>

  private struct Tables {
    /// All tables; the newest is the last.
    var all: [UnsafeMutableRawPointer] = []
    /// The number of words in use in the newest.
    var used = 0
  }

  private static let firstLength = 64
  /// The tombstone in place of a removed fingerprint, so that later ones in the probe sequence are
  /// still found.
  private static let removed: UInt64 = 1

  /// Keeps the reference count, which changes at each commit, out of the cache line that all reads
  /// use.
  private let padding: (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64) =
    (0, 0, 0, 0, 0, 0, 0, 0)
  /// The newest table: its length minus one, then its words.
  private let newest: Atomic<UnsafeMutableRawPointer>
  private let tables: Guarded<Tables>

  package init() {
    let first = ValidatedKeyspaces.makeTable(ValidatedKeyspaces.firstLength)
    newest = Atomic(first)
    tables = Guarded(Tables(all: [first], used: 0))
  }

  deinit {
    for table in tables.withLock({ $0.all }) { table.deallocate() }
  }

  private static func makeTable(_ length: Int) -> UnsafeMutableRawPointer {
    let table = UnsafeMutableRawPointer.allocate(byteCount: (length + 1) * 8, alignment: 64)
    table.initializeMemory(as: UInt64.self, repeating: 0, count: length + 1)
    table.storeBytes(of: UInt64(length - 1), as: UInt64.self)
    return table
  }

  // SAFETY: a zeroed word is a valid Atomic<UInt64>.
  @inline(__always) private static func words(_ table: UnsafeMutableRawPointer) -> (Words, mask: Int) {
    ((table + 8).assumingMemoryBound(to: Atomic<UInt64>.self), Int(table.load(as: UInt64.self)))
  }

  /// Whether a handle is known. If not, it must be looked up in the catalog.
  @inline(__always) package func contains(_ fingerprint: UInt64) -> Bool {
    let (words, mask) = ValidatedKeyspaces.words(newest.load(ordering: .acquiring))
    var index = Int(truncatingIfNeeded: fingerprint) & mask
    while true {
      let word = words[index].load(ordering: .relaxed)
      if word == fingerprint { return true }
      if word == 0 { return false }
      index = (index &+ 1) & mask
    }
  }

  /// Adds a handle that was found in the catalog.
  package func insert(_ fingerprint: UInt64) {
    tables.withLock { tables in
      if contains(fingerprint) { return }
      let (words, mask) = ValidatedKeyspaces.words(newest.load(ordering: .relaxed))
      if 2 * (tables.used + 1) > mask + 1 {
        // Doubled only if the remaining fingerprints need it: many may have been removed.
        var kept: [UInt64] = []
        for index in 0...mask {
          let word = words[index].load(ordering: .relaxed)
          if word > ValidatedKeyspaces.removed { kept.append(word) }
        }
        let larger = ValidatedKeyspaces.makeTable(4 * kept.count > mask ? 2 * (mask + 1) : mask + 1)
        for word in kept { ValidatedKeyspaces.put(word, in: larger) }
        tables.all.append(larger)
        tables.used = kept.count
        newest.store(larger, ordering: .releasing)
      }
      ValidatedKeyspaces.put(fingerprint, in: newest.load(ordering: .relaxed))
      tables.used += 1
    }
  }

  /// The number of words of all tables.
  var length: Int {
    tables.withLock { tables in
      tables.all.reduce(0) { $0 + ValidatedKeyspaces.words($1).mask + 1 }
    }
  }

  private static func put(_ fingerprint: UInt64, in table: UnsafeMutableRawPointer) {
    let (words, mask) = words(table)
    var index = Int(truncatingIfNeeded: fingerprint) & mask
    while words[index].load(ordering: .relaxed) != 0 { index = (index &+ 1) & mask }
    words[index].store(fingerprint, ordering: .relaxed)
  }

  /// Removes a handle whose keyspace was dropped.
  package func remove(_ fingerprint: UInt64) {
    tables.withLock { _ in
      let (words, mask) = ValidatedKeyspaces.words(newest.load(ordering: .relaxed))
      var index = Int(truncatingIfNeeded: fingerprint) & mask
      while true {
        let word = words[index].load(ordering: .relaxed)
        if word == 0 { return }
        if word == fingerprint {
          return words[index].store(ValidatedKeyspaces.removed, ordering: .relaxed)
        }
        index = (index &+ 1) & mask
      }
    }
  }
}
