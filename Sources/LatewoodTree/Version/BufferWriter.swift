import LatewoodBytes
import LatewoodFile

/// Applies one transaction, or recovery, to the write buffer.
///
/// Thread safety: one thread, under the store's writer lock. It is a class so that a transaction
/// and its cursors can share it.
package final class BufferWriter {
  package private(set) var state: BufferState
  private let start: BufferState
  private let tree: UnsafeMutablePointer<BufferTree>
  let records: RecordSpace
  private let file: FileView
  // Private, so that the compiler can prove that accesses do not overlap, and omits the checks.
  private var operationCount = 0
  /// The number of operations so far.
  package var operations: Int { operationCount }

  /// - Parameters:
  ///   - version: the number of the version being written.
  ///   - file: contains all records.
  package convenience init(state: BufferState, version: UInt64, file: FileView) {
    self.init(state, version, file, RecordSpace(file))
  }

  /// - Parameters:
  ///   - version: the number of the version being written.
  ///   - log: receives the operations. Flushed records are read from the file, others from the log.
  package convenience init(state: BufferState, version: UInt64, appendingTo log: DatabaseFile) {
    let file = log.view
    self.init(state, version, file, RecordSpace(file, through: log.writer.flushedThrough, writer: log.writer))
  }

  private init(_ state: BufferState, _ version: UInt64, _ file: FileView, _ records: RecordSpace) {
    self.state = state
    start = state
    tree = state.layer.tree
    self.file = file
    self.records = records
    tree.pointee.begin(version: version)
  }

  /// Frees unreachable nodes. Must be called before the first operation.
  ///
  /// Looks at all live versions, and so waits for as many replaced nodes: each costs O(log of the
  /// live versions), amortized.
  ///
  /// - Parameters:
  ///   - published: the number of the published version.
  ///   - live: returns the numbers of all live versions, as `LiveVersions.numbers(lookingAtMost:)`.
  package func reclaim(published: UInt64, live: (_ most: Int) -> [UInt64]?) {
    let waiting = tree.pointee.retired.count
    guard waiting >= 256, let live = live(waiting) else { return }
    tree.pointee.reclaim(&state.layer.reclaim, published: published, live: live)
    tree.pointee.begin(version: tree.pointee.version)
  }

  /// Applies the put or delete whose record is at a file offset. Throws `damaged` if it encounters
  /// a record that has changed; then the caller must abort.
  ///
  /// - Parameter existed: whether the key existed before; nil if unknown. A wrong value causes
  ///   wrong counts until the next checkpoint.
  package func set(_ record: LogRecord, at offset: UInt64, existed: Bool? = nil) throws(StorageError) {
    operationCount &+= 1
    var reference = RecordReference(record, at: offset)
    // A key without an entry in the buffer exists if the layers beneath have it. An existing entry
    // keeps its own flag.
    reference.existsBelow = existed
    try tree.pointee.insert(record.key, record.keyCount, reference, records)
  }

  /// Applies a range delete; throws like `set`.
  package func deleteRange(_ record: LogRecord, at offset: UInt64) throws(StorageError) {
    operationCount &+= 1
    // All entries in the range are older.
    try tree.pointee.removeRange(
      from: KeyPointer(start: record.key, count: record.keyCount),
      below: KeyPointer(start: record.value, count: record.valueCount), records)
    state.ranges = state.ranges.adding(
      low: Array(UnsafeRawBufferPointer(start: record.key, count: record.keyCount)),
      high: Array(UnsafeRawBufferPointer(start: record.value, count: record.valueCount)), offset: offset)
  }

  /// Applies an operation of any kind; throws like `set`.
  package func apply(_ record: LogRecord, at offset: UInt64) throws(StorageError) {
    if record.code == OperationCode.deleteRange {
      try deleteRange(record, at: offset)
    } else {
      try set(record, at: offset)
    }
  }

  /// Returns the state with all operations so far.
  package func finish() -> BufferState {
    state.root = tree.pointee.root
    state.entries = tree.pointee.entries
    return state
  }

  /// Drops all operations.
  package func abort() {
    tree.pointee.abort(to: start.root, entries: start.entries)
    state = start
  }

  /// Returns the transaction's view: its own operations over the state that it began with.
  package func reads(base: Subtree?, frozen: BufferState?) -> ReadView {
    ReadView(base: base, active: finish(), frozen: frozen, file: file, records: records)
  }
}

extension BufferLayer {
  /// Restores the state `kept` of version `number`, because later transactions could not be
  /// written.
  ///
  /// Nodes of those transactions stay in the slab as long as the layer.
  package func forget(after number: UInt64, keeping kept: BufferState) {
    tree.pointee.forget(after: number, root: kept.root, entries: kept.entries)
  }
}

/// The memory of one write buffer, freed with the last version that refers to it.
package final class BufferLayer: @unchecked Sendable {
  /// Accessed only by the writer; readers use the root in their version.
  let tree: UnsafeMutablePointer<BufferTree>
  var reclaim = BufferReclaim()

  package init() {
    tree = .allocate(capacity: 1)
    tree.initialize(to: BufferTree())
  }

  // SAFETY: no version still has a root in this tree.
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
