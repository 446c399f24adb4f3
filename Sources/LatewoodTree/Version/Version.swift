import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile

/// The memory of one write buffer, freed with the last version that refers to it.
package final class BufferLayer: @unchecked Sendable {
  /// Accessed only by the writer; readers use the root in their version.
  let tree: UnsafeMutablePointer<BufferTree>
  var reclaim = BufferReclaim()

  package init() {
    tree = .allocate(capacity: 1)
    tree.initialize(to: BufferTree())
  }

  // SAFETY: no version with a root in this tree is left.
  deinit {
    tree.deinitialize(count: 1)
    tree.deallocate()
  }

  /// The number of bytes of memory in use. For the writer only.
  package var memoryLength: Int { tree.pointee.slab.length }
}

/// The state of one write buffer: a root, the number of entries, and the deleted ranges.
package struct BufferState: @unchecked Sendable {
  // SAFETY: the root points into the slab of `layer`, at nodes that are not changed while a version
  // shows them.
  package let layer: BufferLayer
  package var root: UnsafeMutableRawPointer?
  package var entries: Int
  package var ranges: RangeTombstones

  package init(layer: BufferLayer = BufferLayer()) {
    self.layer = layer
    root = nil
    entries = 0
    ranges = RangeTombstones()
  }

  package var isEmpty: Bool { root == nil && ranges.isEmpty }
}

/// One state of the database: the base tree of a checkpoint, the write buffer that a checkpoint is
/// merging (if one is), and the write buffer that takes commits.
///
/// ```
/// reads look in     active buffer -> frozen buffer -> base tree
/// ```
///
/// Invariants:
/// 1. A version never changes.
/// 2. Versions do not refer to each other: an old one retains only the memory of its own state.
/// 3. Its number is that of its buffer roots. (A checkpoint's swap makes a version with the same
///    number.)
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
  /// The same state for short reads. Valid as long as the version.
  package let pointers: UnsafePointer<VersionPointers>
  package let file: FileView
  /// Retains the mapping of `file`.
  private let mapping: any AnyObject & Sendable
  private let registry: VersionRegistry
  /// Pins the parts of the file that `base` and the buffers refer to; nil if no space is ever
  /// reclaimed.
  package let pin: BasePin?

  package init(
    number: UInt64, transaction: UInt64, base: Subtree?, active: BufferState, frozen: BufferState?,
    known: ValidatedKeyspaces, file: FileView, mapping: any AnyObject & Sendable, registry: VersionRegistry,
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
    self.registry = registry
    self.pin = pin
    let pointers = UnsafeMutablePointer<VersionPointers>.allocate(capacity: 1)
    self.pointers = UnsafePointer(pointers)
    let reads = ReadView(
      base: base, active: active, frozen: frozen, file: file, records: RecordSpace(file))
    pointers.initialize(
      to: VersionPointers(
        reads: reads, known: Unmanaged.passUnretained(known), version: Unmanaged.passUnretained(self)))
    registry.add(number, transaction: transaction)
  }

  deinit {
    registry.remove(number)
    pointers.deallocate()
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
/// read accesses no object and counts no references.
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

/// A pin on one base tree, and the log after its checkpoint, that keeps their blocks from being
/// reclaimed.
///
/// All versions over one base share a pin. Version numbers would not suffice: a checkpoint's swap
/// makes a version with the same number over another base.
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
