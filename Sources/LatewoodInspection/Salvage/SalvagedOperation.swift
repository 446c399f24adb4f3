import LatewoodBytes
import LatewoodFile

/// An operation of a commit frame, read out of a damaged file. Its value still lies where it was.
struct SalvagedOperation {
  var lengths: LogRecord.Lengths
  /// Of the operation in the file.
  var offset: UInt64
  /// The full key; of a range, its lower bound.
  var key: [UInt8]

  var end: UInt64 { offset + UInt64(lengths.total) }
  var isPut: Bool { lengths.code == OperationCode.put || lengths.code == OperationCode.putExtent }
  var isRange: Bool { lengths.code == OperationCode.deleteRange }
  private var valueOffset: UInt64 { end - UInt64(lengths.value) }

  /// Code, two numbers and a checksum take no more than this.
  private static let frontLimit = 25

  /// The operation at `offset`, if there is one that ends at or before `end`.
  init?(at offset: UInt64, end: UInt64, in source: SalvageSource) throws(Fault) {
    guard offset < end, end <= source.size else { return nil }
    let room = Int(min(UInt64(Self.frontLimit), end - offset))
    let lengths = try source.withBytes(at: offset, count: room) {
      LogRecord.lengths(at: $0, end: $0 + room)
    }
    guard let lengths, let lengths, UInt64(lengths.total) <= end - offset,
      let key = try source.bytes(at: offset + UInt64(lengths.start), count: lengths.key)
    else { return nil }
    self.lengths = lengths
    self.offset = offset
    self.key = key
  }

  /// The value, or the upper bound of a range.
  func value(in source: SalvageSource) throws(Fault) -> [UInt8] {
    try source.bytes(at: valueOffset, count: lengths.value) ?? []
  }

  /// Of a large value: whether its own checksum is right. Nil for an operation that has none.
  func isValueProved(in source: SalvageSource, seed: UInt64) throws(Fault) -> Bool? {
    guard lengths.code == OperationCode.putExtent, lengths.value > 0 else { return nil }
    let sum = try source.hash(valueOffset..<end, seed: seed)
    return UInt32(truncatingIfNeeded: sum) == lengths.valueChecksum
  }
}
