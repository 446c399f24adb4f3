import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Commits the transactions of one file's log to another file, under the same numbers.
struct TransactionReplayer {
  private let target: Engine
  private let rewriters: [UInt32: Rewriter]
  private var transaction: Transaction?
  private var number: UInt64 = 0
  /// The number of transactions taken so far.
  private(set) var count: UInt64 = 0

  init(_ target: Engine, rewriters: [UInt32: Rewriter]) {
    self.target = target
    self.rewriters = rewriters
  }

  /// Adds an operation. The operations of a transaction must be consecutive.
  mutating func take(_ record: LogRecord, of number: UInt64) throws(StorageError) {
    if number != self.number || transaction == nil {
      try finish()
      if target.pacer.pendingBytes >= UInt64(target.options.writeBufferBudget) {
        try target.checkpoint(isForced: false)
      }
      target.file.writer.continueTransactions(after: number - 1)
      transaction = try Transaction(engine: target, target.file)
      self.number = number
      count += 1
    }
    try apply(record)
  }

  private func apply(_ record: LogRecord) throws(StorageError) {
    guard let transaction else { return }
    if record.isPut, let rewriter = rewriter(for: record) {
      let key = UnsafeRawBufferPointer(
        start: record.key + FullKey.prefixLength, count: record.keyCount - FullKey.prefixLength)
      let value = UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
      switch try rewriter(key, value) {
      case .keep: break
      case .drop: return try transaction.replayDelete(of: record)
      case .replace(let new):
        return try new.withStart { (start, count) throws(StorageError) in
          try transaction.replayPut(of: record, UnsafeRawBufferPointer(start: start, count: count))
        }
      }
    }
    try transaction.replay(record)
  }

  private func rewriter(for record: LogRecord) -> Rewriter? {
    rewriters.isEmpty ? nil : rewriters[record.key.u32(0).byteSwapped]
  }

  /// Commits the open transaction, without a flush.
  mutating func finish() throws(StorageError) {
    guard let open = transaction else { return }
    transaction = nil
    do throws(StorageError) {
      try target.commit(open)
      // The file has no readers, but while an older version is published, the write buffer keeps
      // every value replaced since.
      target.versions.publish(target.head.newest, in: target.file)
    } catch {
      target.abort(open)
      throw error
    }
  }

  mutating func abort() {
    if let open = transaction { target.abort(open) }
    transaction = nil
  }
}

/// Applies verified operations of another file's log.
extension Transaction {
  func replay(_ record: LogRecord) throws(StorageError) {
    switch record.code {
    case OperationCode.delete: try replayDelete(of: record)
    case OperationCode.deleteRange:
      try open()
      let offset = try writer.deleteRange(
        low: UnsafeRawBufferPointer(start: record.key, count: record.keyCount),
        high: UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
      try buffer.deleteRange(try writer.record(at: offset), at: offset)
    default:
      try replayPut(of: record, UnsafeRawBufferPointer(start: record.value, count: record.valueCount))
    }
  }

  func replayPut(of record: LogRecord, _ value: UnsafeRawBufferPointer) throws(StorageError) {
    try open()
    let offset = try writer.put(
      fullKey: UnsafeRawBufferPointer(start: record.key, count: record.keyCount), value: value,
      asExtent: value.count > engine.options.inlineValueLimit)
    try buffer.set(writer.record(at: offset), at: offset)
  }

  func replayDelete(of record: LogRecord) throws(StorageError) {
    try open()
    let offset = try writer.delete(
      fullKey: UnsafeRawBufferPointer(start: record.key, count: record.keyCount))
    try buffer.set(writer.record(at: offset), at: offset)
  }
}
