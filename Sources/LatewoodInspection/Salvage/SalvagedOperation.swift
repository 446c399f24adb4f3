import LatewoodBytes
import LatewoodFile

/// An operation of a commit frame in a damaged file. Its value stays in the file until it is read.
struct SalvagedOperation {
  let inspected: InspectedOperation
  /// The full key; the lower bound of a range.
  let key: [UInt8]
  /// The value of an operation that was decrypted.
  private var decrypted: [UInt8]?

  var end: UInt64 { inspected.end }

  /// Reads the operation at `offset`, if there is one that ends at or before `end`.
  init?(at offset: UInt64, end: UInt64, in reader: FileReader) throws(StorageError) {
    guard let inspected = try InspectedOperation(at: offset, end: end, in: reader), inspected.end <= end,
      let key = try reader.bytes(at: inspected.key.lowerBound, count: inspected.key.count)
    else { return nil }
    self.inspected = inspected
    self.key = key
  }

  /// Calls `body` with the operations of a sound commit frame, in their order, up to the first one
  /// that is malformed.
  ///
  /// Throws `damaged` if the frame is encrypted and any of it is wrong.
  ///
  /// - Parameter payload: the payload of the frame, with its trailer if it is encrypted.
  static func each(
    in payload: Range<UInt64>, of file: UnitReader, _ body: (SalvagedOperation) throws(StorageError) -> Void
  ) throws(StorageError) {
    guard file.codec.isEncrypted else {
      var at = payload.lowerBound
      while let operation = try SalvagedOperation(at: at, end: payload.upperBound, in: file.reader) {
        try body(operation)
        at = operation.end
      }
      return
    }
    let offset = payload.lowerBound - UInt64(FrameHeader.length)
    let trailer = file.codec.trailerLength
    let end = Int(payload.upperBound - offset) - trailer
    // The operations are in order and whole, which was checked when they were decrypted.
    try file.withOperations(ofFrameAt: offset) { frame throws(StorageError) in
      var at = FrameHeader.length
      while at < end, let lengths = LogRecord.lengths(at: frame + at, end: frame + end) {
        let operation = SalvagedOperation(lengths, at: offset + UInt64(at), decrypted: frame + at)
        try body(operation)
        at += lengths.total + (operation.inspected.hasOwnChecksum ? trailer : 0)
      }
    }
  }

  private init(_ lengths: LogRecord.Lengths, at offset: UInt64, decrypted start: UnsafeRawPointer) {
    inspected = InspectedOperation(lengths, at: offset)
    let key = start + lengths.start
    self.key = Array(UnsafeRawBufferPointer(start: key, count: lengths.key))
    decrypted = Array(UnsafeRawBufferPointer(start: key + lengths.key, count: lengths.value))
  }

  /// Returns the value, or the upper bound of a range.
  func value(in reader: FileReader) throws(StorageError) -> [UInt8] {
    if let decrypted { return decrypted }
    return try reader.bytes(at: inspected.value.lowerBound, count: inspected.value.count) ?? []
  }

  /// Returns whether a large value matches its own checksum; nil for an operation without one.
  func isValueVerified(in file: UnitReader) throws(StorageError) -> Bool? {
    guard inspected.hasOwnChecksum else { return nil }
    let value = inspected.value
    let sum = try file.checksum(of: .extent, at: value.lowerBound, over: value)
    return UInt32(truncatingIfNeeded: sum) == inspected.valueChecksum
  }
}
