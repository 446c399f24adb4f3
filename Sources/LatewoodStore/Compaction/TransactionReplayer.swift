import LatewoodBytes
import LatewoodFile
import LatewoodTree

/// Commits the transactions of one file's log to a new file, under the same numbers.
struct TransactionReplayer {
  private let target: CompactedFile
  private let rewriters: [UInt32: Rewriter]
  /// The number of the open transaction; nil if there is none.
  private var number: UInt64?
  /// The number of transactions taken so far.
  private(set) var count: UInt64 = 0

  init(_ target: CompactedFile, rewriters: [UInt32: Rewriter]) {
    self.target = target
    self.rewriters = rewriters
  }

  /// Adds a verified operation. The operations of a transaction must be consecutive.
  mutating func take(_ record: LogRecord, of number: UInt64) throws(StorageError) {
    if number != self.number {
      try finish()
      try target.begin(number)
      self.number = number
      count += 1
    }
    try apply(record)
  }

  private func apply(_ record: LogRecord) throws(StorageError) {
    guard record.isPut, let rewriter = rewriter(for: record) else { return try target.apply(record) }
    let key = UnsafeRawBufferPointer(
      start: record.key + FullKey.prefixLength, count: record.keyCount - FullKey.prefixLength)
    switch try rewriter(key, UnsafeRawBufferPointer(start: record.value, count: record.valueCount)) {
    case .keep: try target.apply(record)
    case .drop: try target.delete(record)
    case .replace(let new):
      try new.withStart { (start, count) throws(StorageError) in
        try target.put(record, UnsafeRawBufferPointer(start: start, count: count))
      }
    }
  }

  private func rewriter(for record: LogRecord) -> Rewriter? {
    rewriters.isEmpty ? nil : rewriters[record.key.u32(0).byteSwapped]
  }

  /// Commits the open transaction, without a flush.
  mutating func finish() throws(StorageError) {
    if number != nil { try target.commit() }
    number = nil
  }
}
