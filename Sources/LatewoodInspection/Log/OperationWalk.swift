import LatewoodBytes
import LatewoodFile

/// One operation of a commit frame by its places in the file: what it holds is not read.
package struct InspectedOperation: Equatable {
  /// `OperationCode`.
  package let code: UInt8
  package let start: UInt64
  /// Where the code byte and the lengths end; of an extent the checksum of the value follows.
  package let lengthsEnd: UInt64
  /// The full key; of a range, its lower bound.
  package let key: Range<UInt64>
  /// The value; of a range, its upper bound. Empty for a delete.
  package let value: Range<UInt64>

  package var name: String {
    switch code {
    case OperationCode.put: "put"
    case OperationCode.putExtent: "put extent"
    case OperationCode.delete: "delete"
    default: "delete range"
    }
  }
}

/// Goes through the operations in a payload.
package struct OperationWalk {
  private let reader: FileReader
  package private(set) var position: UInt64
  private let end: UInt64

  package init(_ reader: FileReader, payload: Range<UInt64>) {
    self.reader = reader
    position = payload.lowerBound
    end = min(payload.upperBound, reader.size)
  }

  /// The next operation; nil at the end. Throws `damaged` where the bytes are none, and then has not moved.
  package mutating func next() throws(Fault) -> InspectedOperation? {
    guard position < end else { return nil }
    // A code and two numbers of 10 bytes.
    let bytes = Array(try reader.some(at: position, count: Int(min(21, end - position))))
    guard let (code, first, second, length) = Self.lengths(bytes) else {
      throw Fault.damaged(at: position, "there is no operation here that obeys FORMAT.md, section 6")
    }
    let lengthsEnd = position + UInt64(length)
    let keyStart = lengthsEnd + (code == OperationCode.putExtent ? 4 : 0)
    let valueStart = keyStart + first
    guard valueStart + second <= end else {
      throw Fault.damaged(at: position, "an operation reaches beyond its frame")
    }
    defer { position = valueStart + second }
    return InspectedOperation(
      code: code, start: position, lengthsEnd: lengthsEnd, key: keyStart..<valueStart,
      value: valueStart..<valueStart + second)
  }

  private static func lengths(_ bytes: [UInt8]) -> (UInt8, UInt64, UInt64, Int)? {
    bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress, all.count > 0 else { return nil }
      // SAFETY: nothing is read from `end` on.
      let end = base + all.count
      let code = base.u8(0)
      guard code >= OperationCode.put, code <= OperationCode.deleteRange,
        let first = Varint.read(base + 1, end: end)
      else { return nil }
      var length = 1 + first.length
      var second: UInt64 = 0
      if code != OperationCode.delete {
        guard let read = Varint.read(base + length, end: end) else { return nil }
        second = read.value
        length += read.length
      }
      guard LogRecord.lengthsAreLegal(code, first.value, second) else { return nil }
      return (code, first.value, second, length)
    }
  }
}

extension InspectedFile {
  /// The first operation that is none in each whole transaction of the log: FORMAT.md, section 6 calls that damage. O(operations of the log).
  package func operationFaults() throws(Fault) -> [Fault] {
    guard newestSlot != nil else { return [] }
    var faults: [Fault] = []
    var open: (transaction: UInt64, payloads: [Range<UInt64>]) = (0, [])
    var walk = logFrames()
    while walk.position.offset < log.end.offset, let frame = try walk.next() {
      guard frame.kind == .commit, let end = frame.end else { continue }
      if frame.transaction != open.transaction { open = (frame.transaction, []) }
      open.payloads.append(frame.ownOffset + UInt64(FrameHeader.length)..<end)
      if frame.continues { continue }
      for payload in open.payloads {
        var operations = OperationWalk(reader, payload: payload)
        do throws(Fault) {
          while try operations.next() != nil {}
        } catch {
          guard error.kind == .damaged else { throw error }
          faults.append(error)
        }
      }
      open = (0, [])
    }
    return faults
  }
}
