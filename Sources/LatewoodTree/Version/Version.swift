import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import Synchronization

/// One state of the database: the base tree of a checkpoint, the write buffer that a checkpoint is
/// merging (if one is), and the write buffer that takes commits.
///
/// ```
/// reads look in     active buffer -> frozen buffer -> base tree
/// ```
///
/// Invariants:
/// 1. A version never changes.
/// 2. Versions do not refer to each other: an old version retains only the memory of its own state.
/// 3. Its number is the number of its buffer roots. (A checkpoint's swap creates a version with the
///    same number.)
// SAFETY: the memory at `pointers` never changes and lives as long as this object.
package final class Version: @unchecked Sendable {
  package let number: UInt64
  /// The number of the newest transaction in the version.
  package let transaction: UInt64
  package let base: Subtree?
  package let active: BufferState
  package let frozen: BufferState?
  /// The handles known to refer to keyspaces of this version.
  package let known: ValidatedKeyspaces
  /// The same state, for short reads. Valid as long as the version.
  package let pointers: UnsafePointer<VersionPointers>
  package let file: FileView
  /// The owner of the mapping of `file`.
  private let mapping: any AnyObject & Sendable
  /// The entry that keeps the nodes of its write buffers; nil if nothing frees them while the
  /// version exists.
  private let life: LiveVersion?
  /// The pin on the parts of the file that `base` and the buffers refer to; nil if space is never
  /// reclaimed.
  package let pin: BasePin?

  package init(
    number: UInt64, transaction: UInt64, base: Subtree?, active: BufferState, frozen: BufferState?,
    known: ValidatedKeyspaces, file: FileView, mapping: any AnyObject & Sendable, life: LiveVersion? = nil,
    pin: BasePin? = nil
  ) {
    self.number = number
    self.transaction = transaction
    self.base = base
    self.active = active
    self.frozen = frozen
    self.known = known
    self.file = file
    self.mapping = mapping
    self.life = life
    self.pin = pin
    let pointers = UnsafeMutablePointer<VersionPointers>.allocate(capacity: 1)
    self.pointers = UnsafePointer(pointers)
    let reads = ReadView(
      base: base, active: active, frozen: frozen, file: file, records: RecordSpace(file))
    pointers.initialize(
      to: VersionPointers(
        reads: reads, known: Unmanaged.passUnretained(known), version: Unmanaged.passUnretained(self)))
  }

  deinit {
    life?.end()
    pointers.deallocate()
  }

  /// Returns a version of later commits, which pins the same parts of the same file.
  ///
  /// - Parameter view: a newer view of that file.
  package func followed(
    by number: UInt64, transaction: UInt64, active: BufferState, known: ValidatedKeyspaces, in view: FileView,
    life: LiveVersion
  ) -> Version {
    Version(
      number: number, transaction: transaction, base: base, active: active, frozen: frozen, known: known,
      file: view, mapping: mapping, life: life, pin: pin)
  }

  package var reads: ReadView { pointers.pointee.reads }

  /// Verifies everything reachable from the base tree. O(live bytes).
  package func verifyBase(
    progress: ((_ bytesChecked: UInt64) -> Void)?
  ) -> TreeVerification {
    .run(base, in: file, progress: progress)
  }
}

/// The part of a version that a short read needs: plain pointers in separate memory, so that the
/// read does not access objects or count references.
package struct VersionPointers {
  package let reads: ReadView
  package let known: Unmanaged<ValidatedKeyspaces>
  package let version: Unmanaged<Version>
}

/// The result of verifying a base tree.
package struct TreeVerification {
  package var nodes: UInt64
  package var entries: UInt64
  package var extents: UInt64
  package var bytes: UInt64
  package var faults: [StorageError]

  /// Verifies a tree.
  ///
  /// - Parameter floor: nodes and extents before this offset in the file are not checked.
  package static func run(
    _ root: Subtree?, in file: FileView, from floor: UInt64 = 0,
    progress: ((_ bytesChecked: UInt64) -> Void)?
  ) -> TreeVerification {
    let report = BaseVerify.run(
      BaseTree(root: root, source: NodeLoader(file: file)), from: floor,
      progress: progress.map { tell in { tell($0.bytesChecked) } })
    return TreeVerification(
      nodes: report.nodes, entries: report.entries, extents: report.extents, bytes: report.bytesChecked,
      faults: report.faults)
  }
}

/// The numbers of the live versions, which the writer checks before it frees nodes that an old
/// version may still reach.
///
/// A version holds a `LiveVersion` and ends it with a store, so that readers, which release the
/// last references to old versions, never wait. Ended ones are removed when others are added:
/// adding costs O(1), amortized, and at most half of a long list has ended.
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

/// A pin that keeps the blocks of one base tree, and of the log after its checkpoint, from being
/// reclaimed.
///
/// All versions over one base share a pin. Version numbers would not suffice: a checkpoint's swap
/// creates a version with the same number over another base.
package final class BasePin: Sendable {
  /// The number of base trees before this one since the store was opened.
  package let epoch: UInt64
  private let registry: BasePinRegistry

  package init(epoch: UInt64, registry: BasePinRegistry) {
    self.epoch = epoch
    self.registry = registry
    registry.add(epoch)
  }

  deinit { registry.remove(epoch) }
}

/// The pinned base trees.
///
/// Thread safety: any thread.
package final class BasePinRegistry: Sendable {
  private let counts = Guarded<[UInt64: Int]>([:])

  package init() {}

  fileprivate func add(_ epoch: UInt64) { counts.withLock { $0[epoch, default: 0] += 1 } }

  fileprivate func remove(_ epoch: UInt64) {
    counts.withLock { counts in
      guard let count = counts[epoch] else { return }
      counts[epoch] = count > 1 ? count - 1 : nil
    }
  }

  /// The epoch of the oldest pinned base tree; nil if there is none.
  package var oldest: UInt64? { counts.withLock { $0.keys.min() } }
}

/// A set of keyspace handles known to refer to an existing keyspace in all states with the same
/// catalog.
///
/// Versions share a set until a keyspace is created or dropped; the next version then starts with
/// an empty one. A copy would cost as much as all keyspaces in use, for each new one and for each
/// version that is kept. A handle is identified by its fingerprint, a hash of the store, the number
/// and the name. It is looked up once in each state of the catalog, and later found here,
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
