import LatewoodBytes
import LatewoodFile

/// An operation of a commit frame in a damaged file. Its value stays in the file until it is read.
struct SalvagedOperation {
  let inspected: InspectedOperation
  /// The full key; the lower bound of a range.
  let key: [UInt8]

  var end: UInt64 { inspected.end }

  /// Reads the operation at `offset`, if there is one that ends at or before `end`.
  init?(at offset: UInt64, end: UInt64, in reader: FileReader) throws(StorageError) {
    guard let inspected = try InspectedOperation(at: offset, end: end, in: reader), inspected.end <= end,
      let key = try reader.bytes(at: inspected.key.lowerBound, count: inspected.key.count)
    else { return nil }
    self.inspected = inspected
    self.key = key
  }

  /// Returns the value, or the upper bound of a range.
  func value(in reader: FileReader) throws(StorageError) -> [UInt8] {
    try reader.bytes(at: inspected.value.lowerBound, count: inspected.value.count) ?? []
  }

  /// Returns whether a large value matches its own checksum; nil for an operation without one.
  func isValueVerified(in file: UnitReader) throws(StorageError) -> Bool? {
    guard inspected.hasOwnChecksum else { return nil }
    let value = inspected.value
    let sum = try file.checksum(of: .extent, at: value.lowerBound, over: value)
    return UInt32(truncatingIfNeeded: sum) == inspected.valueChecksum
  }
}
