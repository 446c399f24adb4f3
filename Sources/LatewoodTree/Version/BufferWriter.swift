import LatewoodBytes
import LatewoodFile

/// What one transaction (or recovery) does to the write buffer: from a shared state to the next
/// one, or back.
///
/// Thread safety: one thread, under the store's writer lock. It is a class so that a transaction
/// and its cursors can share it.
package final class BufferWriter {
  package private(set) var state: BufferState
  private let start: BufferState
  private let tree: UnsafeMutablePointer<BufferTree>
  private(set) var records: RecordSpace
  package private(set) var operations = 0

  /// - Parameters:
  ///   - version: number of the version that this will make.
  ///   - mapping: where the file is in memory.
  ///   - flushedThrough: file offset below which `mapping` has the log; what lies above is asked of
  ///     `log`.
  package init(
    state: BufferState, version: UInt64, mapping: UnsafeRawPointer, flushedThrough: UInt64, log: LogFile?
  ) {
    self.state = state
    start = state
    tree = state.layer.tree
    records = RecordSpace(
      base: mapping, through: flushedThrough, log: log.map { Unmanaged.passUnretained($0) })
    tree.pointee.begin(version: version)
  }

  /// Says where the file is in memory now. Before anything is applied.
  package func read(from file: FileView) { records.base = file.base }

  /// Frees what no version needs any more. To be called before anything is applied.
  package func reclaim(published: UInt64, registry: VersionRegistry) {
    guard tree.pointee.retired.count >= 256 else { return }
    tree.pointee.reclaim(&state.layer.reclaim, published: published, live: registry.live)
    tree.pointee.begin(version: tree.pointee.version)
  }

  /// Takes in the operation whose record lies at a file offset.
  @inline(__always) private func insert(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ offset: UInt64, isTombstone: Bool
  ) {
    operations &+= 1
    tree.pointee.insert(
      key, keyCount, RecordReference(offset: offset, isTombstone: isTombstone), records)
  }

  package func put(_ record: LogRecord, at offset: UInt64) {
    insert(record.key, record.keyCount, offset, isTombstone: false)
  }

  package func delete(_ record: LogRecord, at offset: UInt64) {
    insert(record.key, record.keyCount, offset, isTombstone: true)
  }

  package func deleteRange(_ record: LogRecord, at offset: UInt64) {
    operations &+= 1
    state.ranges = state.ranges.adding(
      low: Array(UnsafeRawBufferPointer(start: record.key, count: record.keyCount)),
      high: Array(UnsafeRawBufferPointer(start: record.value, count: record.valueCount)), offset: offset)
  }

  package func apply(_ record: LogRecord, at offset: UInt64) {
    switch record.code {
    case OperationCode.delete: delete(record, at: offset)
    case OperationCode.deleteRange: deleteRange(record, at: offset)
    default: put(record, at: offset)
    }
  }

  /// The state with what was done so far, to be made into a version.
  package func finish() -> BufferState {
    state.root = tree.pointee.root
    state.entries = tree.pointee.entries
    return state
  }

  /// Leaves no trace.
  package func abort() {
    tree.pointee.abort(to: start.root, entries: start.entries)
    state = start
  }

  /// What the transaction sees: its own operations over the state that it began with.
  package func reads(base: Subtree?, frozen: BufferState?, file: FileView) -> ReadView {
    ReadView(base: base, active: finish(), frozen: frozen, file: file, records: records)
  }
}

extension BufferLayer {
  /// Goes back to the state `kept`, whose version has number `number`: the transactions after it
  /// could not be written.
  ///
  /// Nodes that these made stay in the slab until the layer goes.
  package func forget(after number: UInt64, keeping kept: BufferState) {
    tree.pointee.forget(after: number, root: kept.root, entries: kept.entries)
  }
}
