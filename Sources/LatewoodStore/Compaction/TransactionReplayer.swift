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
  mutating func take(_ record: LogRecord, of number: UInt64) throws(Fault) {
    if number != self.number || transaction == nil {
      try finish()
      if target.pacer.pendingBytes >= UInt64(target.options.writeBufferBudget) {
        try target.checkpoint(isForced: false)
      }
      target.log.writer.continueTransactions(after: number - 1)
      transaction = try Transaction(engine: target)
      self.number = number
      count += 1
    }
    try apply(record)
  }

  private func apply(_ record: LogRecord) throws(Fault) {
    guard let transaction else { return }
    if record.isPut, let rewriter = rewriter(for: record) {
      let key = UnsafeRawBufferPointer(
        start: record.key + FullKey.prefixLength, count: record.keyCount - FullKey.prefixLength)
      let value = UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
      switch try rewriter(key, value) {
      case .keep: break
      case .drop: return try transaction.replayDelete(of: record)
      case .replace(let new):
        return try new.withStart { (start, count) throws(Fault) in
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
  mutating func finish() throws(Fault) {
    guard let open = transaction else { return }
    transaction = nil
    do throws(Fault) {
      try target.commit(open)
      // There are no readers, but while an older version is published, the write buffer keeps every
      // value replaced since.
      target.versions.publish(target.head.newest)
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
