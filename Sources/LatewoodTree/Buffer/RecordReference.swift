import LatewoodBytes
import LatewoodFile

/// A reference in the write buffer to a record in the log: its file offset, whether it is a delete,
/// whether the key is known to be beneath the buffer, and a tag that detects changed bytes of the
/// record.
///
/// ```
/// bit 63      the record is a delete
/// bit 62      bit 61 is known
/// bit 61      the layers beneath the buffer have the key
/// bits 48-60  tag
/// bits 0-47   file offset
/// ```
struct RecordReference: Equatable {
  static let tombstoneBit: UInt64 = 1 << 63
  static let knownBit: UInt64 = 1 << 62
  static let beneathBit: UInt64 = 1 << 61
  static let offsetMask: UInt64 = (1 << 48) - 1
  static let tagShift: UInt64 = 48

  var bits: UInt64

  @inline(__always) init(bits: UInt64) { self.bits = bits }
  @inline(__always) init(_ record: LogRecord, at offset: UInt64) {
    bits =
      offset | UInt64(record.tag) &<< Self.tagShift
      | (record.code == OperationCode.delete ? Self.tombstoneBit : 0)
  }
  @inline(__always) var offset: UInt64 { bits & Self.offsetMask }
  @inline(__always) var isTombstone: Bool { bits & Self.tombstoneBit != 0 }
  @inline(__always) var tag: UInt16 { UInt16(truncatingIfNeeded: bits &>> Self.tagShift) & 0x1FFF }

  /// Whether the layers beneath the buffer have the key; nil if that is not known yet.
  @inline(__always) var existsBelow: Bool? {
    get { bits & Self.knownBit == 0 ? nil : bits & Self.beneathBit != 0 }
    set {
      bits &= ~(Self.knownBit | Self.beneathBit)
      if let newValue { bits |= newValue ? Self.knownBit | Self.beneathBit : Self.knownBit }
    }
  }

  /// Returns this reference with `existsBelow` taken from the older reference that it replaces.
  @inline(__always) func replacing(_ old: RecordReference) -> RecordReference {
    let known = Self.knownBit | Self.beneathBit
    return RecordReference(bits: bits & ~known | old.bits & known)
  }
}
