import LatewoodBytes
import LatewoodFile

/// A place in the write buffer's leaves: the file offset of a record in the log, whether that
/// record is a delete, what is known of the same key beneath the buffer, and some bits by which the
/// record's bytes are known again.
///
/// ```
/// bit 63      the record is a delete
/// bit 62      bit 61 says something
/// bit 61      what lies beneath the buffer has the key
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

  /// Whether what lies beneath the buffer has the key; nil: nobody knows yet.
  @inline(__always) var isBeneath: Bool? {
    get { bits & Self.knownBit == 0 ? nil : bits & Self.beneathBit != 0 }
    set {
      bits &= ~(Self.knownBit | Self.beneathBit)
      if let newValue { bits |= newValue ? Self.knownBit | Self.beneathBit : Self.knownBit }
    }
  }

  /// The same record in the place of an older one of its key: beneath both is the same.
  @inline(__always) func replacing(_ old: RecordReference) -> RecordReference {
    let known = Self.knownBit | Self.beneathBit
    return RecordReference(bits: bits & ~known | old.bits & known)
  }
}

extension LogRecord {
  /// Bytes of a value in line that the tag is made of. No writer of this library leaves longer ones
  /// in line.
  private static var taggedValueLimit: Int { 1024 }

  /// 13 bits of a hash of everything but the value of an extent, which has a checksum of its own.
  ///
  /// It is made when a record comes into the write buffer, and compared whenever one is read there:
  /// bytes of the log that are no longer what was written pass once in 8,192 times. That is for
  /// reads, which must be fast; what is made official has been proved by the checksums of frames.
  @inline(__always) var tag: UInt16 {
    var state =
      UInt64(code) | UInt64(truncatingIfNeeded: keyCount) &<< 8
      | UInt64(truncatingIfNeeded: valueCount) &<< 24
    state = LogRecord.fold(state ^ UInt64(valueChecksum) &<< 32, 0x9E37_79B9_7F4A_7C15)
    let count = keyCount &+ (code == OperationCode.put ? min(valueCount, LogRecord.taggedValueLimit) : 0)
    // SAFETY: the value lies right behind the key, which has at least five bytes; all are in the
    // record.
    if count < 8 {
      state = LogRecord.fold(state ^ UInt64(key.u32(0)), UInt64(key.u32(count &- 4)) | 1 &<< 63)
      return UInt16(truncatingIfNeeded: state &>> 20) & 0x1FFF
    }
    var other = ~state
    var at = 0
    while at &+ 32 <= count {
      state = LogRecord.fold(state ^ key.u64(at), key.u64(at &+ 8) ^ 0xD6E8_FEB8_6659_FD93)
      other = LogRecord.fold(other ^ key.u64(at &+ 16), key.u64(at &+ 24) ^ 0xCA5A_8263_9512_1157)
      at &+= 32
    }
    if at &+ 16 <= count {
      state = LogRecord.fold(state ^ key.u64(at), key.u64(at &+ 8) ^ 0xD6E8_FEB8_6659_FD93)
      at &+= 16
    }
    if at &+ 8 <= count { other = LogRecord.fold(other ^ key.u64(at), 0xCA5A_8263_9512_1157) }
    // Some of the last eight bytes for the second time.
    state = LogRecord.fold(state ^ key.u64(count &- 8), other ^ 0xA3B1_9535_4A39_B70D)
    return UInt16(truncatingIfNeeded: state &>> 20) & 0x1FFF
  }

  /// Both halves of a product: every bit depends on all of both factors.
  @inline(__always) private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}

/// Where the records that the write buffer refers to can be read.
///
/// Below `through` the mapping of the file has them. Others may have written there meanwhile, or
/// the disk may have lost it: a record is checked each time it is read. Above lie the operations of
/// the transaction that is running and of those that are queued for the disk; only the writer sees
/// these, and asks the log for them.
// SAFETY: readers hold the mapping through their version; only the writer has a `log`, and it
// outlives the transaction.
struct RecordSpace: @unchecked Sendable {
  var base: UnsafeRawPointer
  /// Bytes of the file that exist, or of the writer, that it reads there.
  var through: UInt64
  var log: Unmanaged<LogFile>?

  /// Records that are all in the file.
  init(_ file: FileView) {
    base = file.base
    through = file.limit
    log = nil
  }

  init(_ file: FileView, through: UInt64, log: LogFile) {
    base = file.base
    self.through = through
    self.log = Unmanaged.passUnretained(log)
  }

  /// The record that a reference means, all of which can be read. Throws `damaged` if the file does
  /// not have it any more.
  ///
  /// - Parameter least: bytes that the key has at least.
  @inline(__always) func record(
    _ reference: RecordReference, least: Int = 0
  ) throws(Fault) -> LogRecord {
    let offset = reference.offset
    if offset >= through { return try pending(offset) }
    // SAFETY: every byte below `through` can be read.
    guard
      let (record, _) = LogRecord.validated(
        at: base + Int(truncatingIfNeeded: offset), end: base + Int(truncatingIfNeeded: through)),
      // A range has bounds of any length, which is no key.
      record.code != OperationCode.deleteRange, record.keyCount >= least, record.tag == reference.tag,
      (record.code == OperationCode.delete) == reference.isTombstone
    else { throw LogRecord.changed(at: offset) }
    return record
  }

  /// The value of a record. That of an extent is compared with its checksum, as in a tree.
  @inline(__always) func value(
    of record: LogRecord, _ reference: RecordReference, in file: FileView
  ) throws(Fault) -> UnsafeRawBufferPointer {
    if record.code == OperationCode.putExtent, reference.offset < through {
      return try file.extent(
        offset: UInt64(record.value - base), length: UInt64(record.valueCount),
        checksum: record.valueChecksum)
    }
    return UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
  }

  @inline(never) private func pending(_ offset: UInt64) throws(Fault) -> LogRecord {
    guard let log else { throw LogRecord.changed(at: offset) }
    // SAFETY: the log outlives the transaction.
    return try log.takeUnretainedValue().record(at: offset)
  }
}
