import LatewoodBytes

/// What an operation in a commit frame does. The raw values are on disk.
@usableFromInline package enum OperationCode {
  @usableFromInline package static let put: UInt8 = 1
  @usableFromInline package static let putExtent: UInt8 = 2
  @usableFromInline package static let delete: UInt8 = 3
  @usableFromInline package static let deleteRange: UInt8 = 4
}

/// One operation of a commit frame, decoded where it lies. The pointers are valid as long as the bytes it was read from.
///
/// ```
/// put           1 | varint keyCount | varint valueCount |               key | value
/// put extent    2 | varint keyCount | varint valueCount | u32 checksum | key | value
/// delete        3 | varint keyCount |                                    key
/// delete range  4 | varint lowCount | varint highCount  |               low | high
/// ```
@usableFromInline package struct LogRecord {
  @usableFromInline package let code: UInt8
  /// The full key; of a range, its lower bound.
  @usableFromInline package let key: UnsafeRawPointer
  @usableFromInline package let keyCount: Int
  /// The value; of a range, its upper bound.
  @usableFromInline package let value: UnsafeRawPointer
  @usableFromInline package let valueCount: Int
  /// Of an extent; else 0.
  @usableFromInline package let valueChecksum: UInt32

  /// Decodes a record that this process wrote or has validated.
  @inlinable @inline(__always) package init(trusted start: UnsafeRawPointer) {
    code = start.u8(0)
    let (keyLength, keyBytes) = Varint.readTrusted(start + 1)
    keyCount = Int(truncatingIfNeeded: keyLength)
    var at = 1 &+ keyBytes
    if code == OperationCode.delete {
      key = start + at
      value = key + keyCount
      valueCount = 0
      valueChecksum = 0
      return
    }
    let (valueLength, valueBytes) = Varint.readTrusted(start + at)
    valueCount = Int(truncatingIfNeeded: valueLength)
    at &+= valueBytes
    if code == OperationCode.putExtent {
      valueChecksum = start.u32(at)
      at &+= 4
    } else {
      valueChecksum = 0
    }
    key = start + at
    value = key + keyCount
  }

  @inlinable package var isPut: Bool { code == OperationCode.put || code == OperationCode.putExtent }
}
