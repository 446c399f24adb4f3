import LatewoodBytes
import LatewoodFile

/// One operation of a commit frame, by its offsets in the file: its contents are not read.
package struct InspectedOperation: Equatable {
  /// The raw value of an `OperationCode`.
  package let code: UInt8
  package let start: UInt64
  /// The end of the code byte and the lengths; in an extent the checksum of the value follows.
  package let lengthsEnd: UInt64
  /// The full key; the lower bound of a range.
  package let key: Range<UInt64>
  /// The value; the upper bound of a range. Empty for a delete.
  package let value: Range<UInt64>
  /// The checksum of a large value, from the operation; 0 for other values.
  package let valueChecksum: UInt32

  package var end: UInt64 { value.upperBound }
  package var isPut: Bool { code == OperationCode.put || hasOwnChecksum }
  package var isRange: Bool { code == OperationCode.deleteRange }
  /// Whether the operation has its own checksum over the value.
  package var hasOwnChecksum: Bool { code == OperationCode.putExtent }

  package var name: String {
    switch code {
    case OperationCode.put: "put"
    case OperationCode.putExtent: "put extent"
    case OperationCode.delete: "delete"
    default: "delete range"
    }
  }

  /// The greatest length of the code, two numbers and a checksum.
  private static let frontLimit: UInt64 = 25

  /// Reads the operation at `offset`; nil if the bytes before `end` violate FORMAT.md, section 6.
  /// Key and value may reach beyond `end`.
  init?(at offset: UInt64, end: UInt64, in reader: FileReader) throws(StorageError) {
    guard offset < end else { return nil }
    let room = Int(min(Self.frontLimit, end - offset))
    let read = try reader.window.withBytes(at: offset, count: room) {
      LogRecord.lengths(at: $0, end: $0 + room)
    }
    guard let read, let lengths = read else { return nil }
    self.init(lengths, at: offset)
  }

  /// - Parameter offset: the offset of the operation in the file.
  init(_ lengths: LogRecord.Lengths, at offset: UInt64) {
    code = lengths.code
    start = offset
    let keyStart = offset + UInt64(lengths.start)
    lengthsEnd = keyStart - (lengths.code == OperationCode.putExtent ? 4 : 0)
    key = keyStart..<keyStart + UInt64(lengths.key)
    value = key.upperBound..<key.upperBound + UInt64(lengths.value)
    valueChecksum = lengths.valueChecksum
  }
}

/// Iterates over the operations in a payload.
package struct OperationWalk {
  private let reader: FileReader
  package private(set) var position: UInt64
  private let end: UInt64

  package init(_ reader: FileReader, payload: Range<UInt64>) {
    self.reader = reader
    position = payload.lowerBound
    end = min(payload.upperBound, reader.size)
  }

  /// Returns the next operation; nil at the end. Throws `damaged`, without advancing, if the bytes
  /// are not an operation.
  package mutating func next() throws(StorageError) -> InspectedOperation? {
    guard position < end else { return nil }
    guard let operation = try InspectedOperation(at: position, end: end, in: reader) else {
      throw StorageError.damaged(at: position, "the operation at this offset violates FORMAT.md, section 6")
    }
    guard operation.end <= end else {
      throw StorageError.damaged(at: position, "an operation reaches beyond its frame")
    }
    position = operation.end
    return operation
  }
}

extension InspectedFile {
  /// Returns the first malformed operation of each complete transaction in the log: FORMAT.md,
  /// section 6 calls that damage. None without the key of an encrypted file. O(operations of the
  /// log).
  package func operationFaults() throws(StorageError) -> [StorageError] {
    guard newestSlot != nil, !isLocked else { return [] }
    var faults: [StorageError] = []
    var open: (transaction: UInt64, payloads: [Range<UInt64>]) = (0, [])
    var walk = logFrames()
    while walk.position.offset < log.end.offset, let frame = try walk.next() {
      guard frame.kind == .commit, let end = frame.end else { continue }
      if frame.transaction != open.transaction { open = (frame.transaction, []) }
      open.payloads.append(frame.ownOffset + UInt64(FrameHeader.length)..<end)
      if frame.continues { continue }
      for payload in open.payloads {
        do throws(StorageError) {
          try checkOperations(payload)
        } catch {
          guard error.kind == .damaged else { throw error }
          faults.append(error)
        }
      }
      open = (0, [])
    }
    return faults
  }

  /// Throws `damaged` if an operation of a commit frame is malformed.
  private func checkOperations(_ payload: Range<UInt64>) throws(StorageError) {
    if suite != nil {
      // They are checked while they are decrypted.
      return try units.withOperations(ofFrameAt: payload.lowerBound - UInt64(FrameHeader.length)) { _ in }
    }
    var operations = OperationWalk(reader, payload: payload)
    while try operations.next() != nil {}
  }
}
