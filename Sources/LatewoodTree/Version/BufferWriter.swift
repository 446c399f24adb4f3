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
  private var file: FileView
  package private(set) var operations = 0

  /// - Parameters:
  ///   - version: number of the version that this will make.
  ///   - file: has all records that there will be.
  package convenience init(state: BufferState, version: UInt64, file: FileView) {
    self.init(state, version, file, RecordSpace(file))
  }

  /// - Parameters:
  ///   - version: number of the version that this will make.
  ///   - log: takes the operations. What it has flushed is in the file; what it has not is asked of
  ///     it.
  package convenience init(state: BufferState, version: UInt64, appendingTo log: LogFile) {
    let file = log.view
    self.init(state, version, file, RecordSpace(file, through: log.flushedThrough, log: log))
  }

  private init(_ state: BufferState, _ version: UInt64, _ file: FileView, _ records: RecordSpace) {
    self.state = state
    start = state
    tree = state.layer.tree
    self.file = file
    self.records = records
    tree.pointee.begin(version: version)
  }

  /// Says where the file is in memory now. Before anything is applied, and not if a log takes the
  /// operations.
  package func read(from file: FileView) {
    self.file = file
    records = RecordSpace(file)
  }

  /// Frees what no version needs any more. To be called before anything is applied.
  package func reclaim(published: UInt64, registry: VersionRegistry) {
    guard tree.pointee.retired.count >= 256 else { return }
    tree.pointee.reclaim(&state.layer.reclaim, published: published, live: registry.live)
    tree.pointee.begin(version: tree.pointee.version)
  }

  /// Takes in the put or delete whose record lies at a file offset. Throws `damaged` if it meets a
  /// record in the log that is not what it was: then all of this must be given up.
  ///
  /// - Parameter wasThere: whether the key is in the state that this changes; nil: nobody knows. A
  ///   wrong one makes wrong counts until the next checkpoint.
  package func set(_ record: LogRecord, at offset: UInt64, wasThere: Bool? = nil) throws(Fault) {
    operations &+= 1
    var reference = RecordReference(record, at: offset)
    // A key that has no entry here yet is there if it is beneath. Of others the entry knows better.
    reference.isBeneath = wasThere
    try tree.pointee.insert(record.key, record.keyCount, reference, records)
  }

  /// Takes in a range delete; throws as `set`.
  package func deleteRange(_ record: LogRecord, at offset: UInt64) throws(Fault) {
    operations &+= 1
    // Whatever has an entry in the range is older.
    try tree.pointee.removeRange(
      from: KeyPointer(start: record.key, count: record.keyCount),
      below: KeyPointer(start: record.value, count: record.valueCount), records)
    state.ranges = state.ranges.adding(
      low: Array(UnsafeRawBufferPointer(start: record.key, count: record.keyCount)),
      high: Array(UnsafeRawBufferPointer(start: record.value, count: record.valueCount)), offset: offset)
  }

  /// Takes in an operation of any kind; as `set`.
  package func apply(_ record: LogRecord, at offset: UInt64) throws(Fault) {
    if record.code == OperationCode.deleteRange {
      try deleteRange(record, at: offset)
    } else {
      try set(record, at: offset)
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
  package func reads(base: Subtree?, frozen: BufferState?) -> ReadView {
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
