import LatewoodBytes
import LatewoodFile

/// Applies verified operations of another file's log.
extension Transaction {
  func replay(_ record: LogRecord) throws(Fault) {
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

  func replayPut(of record: LogRecord, _ value: UnsafeRawBufferPointer) throws(Fault) {
    try open()
    let offset = try writer.put(
      fullKey: UnsafeRawBufferPointer(start: record.key, count: record.keyCount), value: value,
      asExtent: value.count > engine.options.inlineValueLimit)
    try buffer.set(writer.record(at: offset), at: offset)
  }

  func replayDelete(of record: LogRecord) throws(Fault) {
    try open()
    let offset = try writer.delete(
      fullKey: UnsafeRawBufferPointer(start: record.key, count: record.keyCount))
    try buffer.set(writer.record(at: offset), at: offset)
  }
}
