import LatewoodBytes
import LatewoodFile

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
  /// The entry that keeps the nodes of its write buffers; nil for a version without write buffers.
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
