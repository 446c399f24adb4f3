import LatewoodBytes
import LatewoodFile

/// An operation of a commit frame in a damaged file. Its value stays in the file until it is read.
struct SalvagedOperation {
  let place: InspectedOperation
  /// The full key; the lower bound of a range.
  let key: [UInt8]

  var end: UInt64 { place.end }

  /// Reads the operation at `offset`, if there is one that ends at or before `end`.
  init?(at offset: UInt64, end: UInt64, in reader: FileReader) throws(StorageError) {
    guard let place = try InspectedOperation(at: offset, end: end, in: reader), place.end <= end,
      let key = try reader.bytes(at: place.key.lowerBound, count: place.key.count)
    else { return nil }
    self.place = place
    self.key = key
  }

  /// Returns the value, or the upper bound of a range.
  func value(in reader: FileReader) throws(StorageError) -> [UInt8] {
    try reader.bytes(at: place.value.lowerBound, count: place.value.count) ?? []
  }

  /// Returns whether a large value matches its own checksum; nil for an operation without one.
  func isValueVerified(in file: FrameReader) throws(StorageError) -> Bool? {
    guard place.hasOwnChecksum, !place.value.isEmpty else { return nil }
    let sum = try file.reader.hash(place.value, seed: file.seed)
    return UInt32(truncatingIfNeeded: sum) == place.valueChecksum
  }
}
