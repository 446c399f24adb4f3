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

/// A pointer to a full key.
struct KeyPointer {
  let start: UnsafeRawPointer
  let count: Int
}

/// The 16 bytes of a key after its head, as two big-endian numbers; missing bytes count as zero.
///
/// Branches of the write buffer store the tails of their separators, which decide most searches
/// without reading a record and verifying it against its tag. If tails are equal, the records are
/// read.
struct KeyTail {
  static let length = 16
  private static let headLength = 4

  let first: UInt64
  let second: UInt64

  /// - Parameters:
  ///   - rest: the key after the prefix of its node, beginning with the head.
  ///   - restCount: the number of its bytes.
  @inline(__always) init(_ rest: UnsafeRawPointer, _ restCount: Int) {
    first = Self.word(rest + Self.headLength, restCount &- Self.headLength)
    second = restCount > 12 ? Self.word(rest + 12, restCount &- 12) : 0
  }

  @inline(__always) private static func word(_ start: UnsafeRawPointer, _ count: Int) -> UInt64 {
    // SAFETY: there are `count` bytes, or none if it is negative.
    if count >= 8 { return start.u64(0).byteSwapped }
    if count < 4 { return UInt64(KeyOrder.head(start, count)) &<< 32 }
    let high = UInt64(start.u32(0).byteSwapped) &<< 32
    // The last four bytes, which overlap the first four.
    return high | UInt64(start.u32(count &- 4).byteSwapped) &<< UInt64(8 &* (8 &- count))
  }

  /// Writes the bytes of the tail.
  @inline(__always) func store(to place: UnsafeMutableRawPointer) {
    place.set(first.byteSwapped, at: 0)
    place.set(second.byteSwapped, at: 8)
  }

  @inline(__always) static func < (a: KeyTail, b: KeyTail) -> Bool {
    a.first != b.first ? a.first < b.first : a.second < b.second
  }
}

extension BufferNode {
  /// The tails of a branch's separators.
  @inline(__always) var tails: UnsafeMutablePointer<KeyTail> {
    (pointer + Self.headerLength + capacity &* 28).assumingMemoryBound(to: KeyTail.self)
  }

  /// Returns the separators among `from ..< to`, which have equal heads, that have this tail: an
  /// empty range at the insertion point if there are none.
  @inline(__always) func run(of tail: KeyTail, in from: Int, _ to: Int) -> (low: Int, high: Int) {
    let all = tails
    var (low, end) = (from, to)
    while low < end {
      let middle = (low &+ end) &>> 1
      if all[middle] < tail { low = middle &+ 1 } else { end = middle }
    }
    var high = low
    while high < to, !(tail < all[high]) { high &+= 1 }
    return (low, high)
  }
}

extension LogRecord {
  /// The number of bytes of an inline value that the tag covers. Longer values are stored as
  /// extents.
  private static var taggedValueLimit: Int { 2048 }

  /// A 13-bit hash of the record. It does not cover the value of an extent, which has its own
  /// checksum.
  ///
  /// The tag is computed when a record enters the write buffer, and compared whenever the record is
  /// read. It misses one change in 8,192, but only in reads, which must be fast: checkpoints and
  /// compactions verify the checksums of frames.
  @inline(__always) var tag: UInt16 {
    var state =
      UInt64(code) | UInt64(truncatingIfNeeded: keyCount) &<< 8
      | UInt64(truncatingIfNeeded: valueCount) &<< 24
    state = LogRecord.fold(state ^ UInt64(valueChecksum) &<< 32, 0x9E37_79B9_7F4A_7C15)
    let count = keyCount &+ (code == OperationCode.put ? min(valueCount, LogRecord.taggedValueLimit) : 0)
    // SAFETY: the value directly follows the key, which has at least five bytes; both are in the
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
    // The last eight bytes, which overlap earlier ones.
    state = LogRecord.fold(state ^ key.u64(count &- 8), other ^ 0xA3B1_9535_4A39_B70D)
    return UInt16(truncatingIfNeeded: state &>> 20) & 0x1FFF
  }

  /// Combines both halves of a product, so that every bit depends on both factors.
  @inline(__always) private static func fold(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let product = a.multipliedFullWidth(by: b)
    return product.high ^ product.low
  }
}

/// Reads the records that the write buffer refers to.
///
/// Records below `through` are in the mapping of the file, whose bytes may have changed, so a
/// record is verified each time it is read. The records above are operations of the running
/// transaction and of queued ones, which only the writer sees; it reads them from the log. A long
/// transaction may have written some of these to the file itself, so they are verified, too, unless
/// they are in the open segment in memory.
// SAFETY: readers retain the mapping through their version; only the writer has a `writer`, and it
// outlives the transaction.
struct RecordSpace: @unchecked Sendable {
  var base: UnsafeRawPointer
  /// The number of bytes of the file that exist; for the writer, the offset below which it reads
  /// the mapping.
  var through: UInt64
  var writer: Unmanaged<LogWriter>?

  /// Creates a reader of records that are all in the file.
  init(_ file: FileView) {
    base = file.base
    through = file.limit
    writer = nil
  }

  init(_ file: FileView, through: UInt64, writer: LogWriter) {
    base = file.base
    self.through = through
    self.writer = Unmanaged.passUnretained(writer)
  }

  /// Returns the record that a reference points to. Throws `damaged` if the file no longer contains
  /// the record.
  ///
  /// - Parameter least: the minimum length of the key.
  @inline(__always) func record(
    _ reference: RecordReference, least: Int = 0
  ) throws(StorageError) -> LogRecord {
    let record = try untagged(reference, least: least)
    try verify(record, reference)
    return record
  }

  /// Returns the record at a reference's offset without verifying it against the tag. Throws
  /// `damaged` if the offset does not have a readable record.
  @inline(__always) func untagged(
    _ reference: RecordReference, least: Int
  ) throws(StorageError) -> LogRecord {
    let offset = reference.offset
    if offset >= through { return try pending(reference, least: least) }
    // SAFETY: every byte below `through` can be read.
    guard
      let (record, _) = LogRecord.validated(
        at: base + Int(truncatingIfNeeded: offset), end: base + Int(truncatingIfNeeded: through)),
      RecordSpace.fits(record, reference, least: least)
    else { throw LogRecord.changed(at: offset) }
    return record
  }

  /// Returns whether a record can be the one of a reference, apart from its tag.
  @inline(__always) private static func fits(
    _ record: LogRecord, _ reference: RecordReference, least: Int
  ) -> Bool {
    // The bounds of a range are not keys and may have any length.
    record.code != OperationCode.deleteRange && record.keyCount >= least
      && (record.code == OperationCode.delete) == reference.isTombstone
  }

  /// Verifies a record against the tag of its reference, unless `untagged` has done so. Throws
  /// `damaged` if it does not match.
  @inline(__always) func verify(_ record: LogRecord, _ reference: RecordReference) throws(StorageError) {
    if reference.offset < through, record.tag != reference.tag {
      throw LogRecord.changed(at: reference.offset)
    }
  }

  /// Prefetches the two cache lines after the one in which a record of the file begins, because the
  /// tag covers the whole record.
  @inline(__always) func touchRest(of reference: RecordReference) {
    let offset = reference.offset
    guard offset < through else { return }
    // SAFETY: every byte below `through` can be read.
    (base + Int(truncatingIfNeeded: min(offset &+ 64, through &- 1))).touch()
    (base + Int(truncatingIfNeeded: min(offset &+ 128, through &- 1))).touch()
  }

  /// Touches the records of some entries of a leaf. They are far apart, so this fetches them into
  /// the CPU cache in parallel instead of one after the other.
  ///
  /// - Returns: the sum of the touched bytes, so that the compiler does not remove the reads.
  @discardableResult
  @inline(never) func touch(_ leaf: BufferNode, _ entries: Range<Int>) -> UInt8 {
    var touched: UInt8 = 0
    for index in entries {
      let offset = leaf.reference(index).offset
      guard offset < through else { continue }
      // SAFETY: every byte below `through` can be read, as can the rest of its page.
      let start = base + Int(truncatingIfNeeded: offset)
      let isNextLineInPage = offset & 4095 < 4096 &- 64
      touched &+= start.u8(0) &+ start.u8(isNextLineInPage ? 64 : 0)
    }
    return touched
  }

  /// Returns the value of a record. An extent is verified against its checksum, as in a tree.
  @inline(__always) func value(
    of record: LogRecord, _ reference: RecordReference, in file: FileView
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    if record.code == OperationCode.putExtent { return try extent(of: record, reference, in: file) }
    return UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
  }

  /// Returns the value of a record that has it as an extent. Verifies its checksum, unless the
  /// value is in private memory.
  @inline(never) private func extent(
    of record: LogRecord, _ reference: RecordReference, in file: FileView
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    if reference.offset < through {
      return try file.extent(
        offset: UInt64(record.value - base), length: UInt64(record.valueCount),
        checksum: record.valueChecksum)
    }
    // The transaction may have written it to the file itself.
    if let writer, reference.offset >= writer._withUnsafeGuaranteedRef({ $0.segmentStart }) {
      return UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
    }
    // The records of an encrypted file are always in private memory, which was verified when it was
    // filled.
    if file.codec.isEncrypted {
      return UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
    }
    try file.codec.open(record.extent(ofRecordAt: reference.offset), record.value)
    return UnsafeRawBufferPointer(start: record.value, count: record.valueCount)
  }

  @inline(never) private func pending(
    _ reference: RecordReference, least: Int
  ) throws(StorageError) -> LogRecord {
    let offset = reference.offset
    guard let writer else { throw LogRecord.changed(at: offset) }
    // SAFETY: the writer outlives the transaction. This avoids reference counting, because each get
    // or put calls this several times.
    return try writer._withUnsafeGuaranteedRef { writer in
      Result { () throws(StorageError) in
        let record = try writer.record(at: offset)
        guard
          offset >= writer.segmentStart
            || RecordSpace.fits(record, reference, least: least) && record.tag == reference.tag
        else { throw LogRecord.changed(at: offset) }
        return record
      }
    }.get()
  }
}
