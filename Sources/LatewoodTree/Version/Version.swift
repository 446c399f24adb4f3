import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// The memory of one write buffer. It goes when the last version that refers to it goes.
package final class BufferLayer: @unchecked Sendable {
  /// Touched by the writer alone; readers go by the root in their version.
  let tree: UnsafeMutablePointer<BufferTree>
  var reclaim = BufferReclaim()

  package init() {
    tree = .allocate(capacity: 1)
    tree.initialize(to: BufferTree())
  }

  // SAFETY: nobody holds a version with a root in this tree any more.
  deinit {
    tree.deinitialize(count: 1)
    tree.deallocate()
  }

  /// Bytes of memory it takes. The writer's to ask.
  package var memoryLength: Int { tree.pointee.slab.length }
}

/// What one layer of the write buffer shows: a root, how many entries it has, and what was deleted
/// by range.
package struct BufferState: @unchecked Sendable {
  // SAFETY: the root points into the slab of `layer`, at nodes that are not changed while a version
  // shows them.
  package let layer: BufferLayer
  package var root: UnsafeMutableRawPointer?
  package var entries: Int
  package var ranges: RangeSet

  package init(layer: BufferLayer = BufferLayer()) {
    self.layer = layer
    root = nil
    entries = 0
    ranges = RangeSet()
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
/// 1. A version never changes; whoever holds one sees one state for as long as they like.
/// 2. Versions do not refer to each other: an old one keeps only what it shows.
/// 3. Its number is that of the buffer roots it shows (a checkpoint's swap makes a version of the
///    same number).
// SAFETY: what the pointer leads to never changes and is there as long as this.
package final class Version: @unchecked Sendable {
  package let number: UInt64
  /// The newest transaction it shows.
  package let transaction: UInt64
  package let base: Subtree?
  package let active: BufferState
  package let frozen: BufferState?
  /// The handles that are known to mean keyspaces which it has.
  package let known: KnownKeyspaces
  /// The same for short reads, for as long as the version.
  package let face: UnsafePointer<VersionFace>
  package let file: FileView
  /// What keeps `file` where it is.
  private let mapping: any AnyObject & Sendable
  private let registry: VersionRegistry
  /// Keeps what `base` and the buffers refer to in the file; nil where nothing is ever given back.
  package let hold: BaseHold?

  package init(
    number: UInt64, transaction: UInt64, base: Subtree?, active: BufferState, frozen: BufferState?,
    known: KnownKeyspaces, file: FileView, mapping: any AnyObject & Sendable, registry: VersionRegistry,
    hold: BaseHold? = nil
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
    self.hold = hold
    let face = UnsafeMutablePointer<VersionFace>.allocate(capacity: 1)
    self.face = UnsafePointer(face)
    let reads = ReadView(
      base: base, active: active, frozen: frozen, file: file, records: RecordSpace(file))
    face.initialize(
      to: VersionFace(
        reads: reads, known: Unmanaged.passUnretained(known), version: Unmanaged.passUnretained(self)))
    registry.add(number, transaction: transaction)
  }

  deinit {
    registry.remove(number)
    face.deallocate()
  }

  package var reads: ReadView { face.pointee.reads }

  /// Checks everything that the base tree reaches. O(live bytes).
  package func verifyBase(
    progress: ((_ bytesChecked: UInt64) -> Void)?
  ) -> TreeVerification {
    .run(base, in: file, progress: progress)
  }
}

/// What a short read needs of a version: plain pointers at a place of their own, so that nothing of
/// the object is touched, and no reference to it counted.
package struct VersionFace {
  package let reads: ReadView
  package let known: Unmanaged<KnownKeyspaces>
  package let version: Unmanaged<Version>
}

/// What a verification of a base tree found.
package struct TreeVerification {
  package var nodes: UInt64
  package var entries: UInt64
  package var extents: UInt64
  package var bytes: UInt64
  package var faults: [Fault]

  /// Checks a tree.
  ///
  /// - Parameter floor: what lies before this offset in the file is not looked at.
  package static func run(
    _ root: Subtree?, in file: FileView, from floor: UInt64 = 0,
    progress: ((_ bytesChecked: UInt64) -> Void)?
  ) -> TreeVerification {
    let report = BaseVerify.run(
      BaseTree(root: root, source: NodeSource(file: file)), from: floor,
      progress: progress.map { tell in { tell($0.bytesChecked) } })
    return TreeVerification(
      nodes: report.nodes, entries: report.entries, extents: report.extents, bytes: report.bytesChecked,
      faults: report.faults)
  }
}
