import LatewoodBytes
import LatewoodFile

/// A place in the write buffer's leaves: the file offset of a record in the log, and whether that
/// record is a delete.
///
/// ```
/// bit 63     the record is a delete
/// bits 0-47  file offset
/// ```
struct RecordReference: Equatable {
  static let tombstoneBit: UInt64 = 1 << 63
  static let offsetMask: UInt64 = (1 << 48) - 1

  var bits: UInt64

  @inline(__always) init(bits: UInt64) { self.bits = bits }
  @inline(__always) init(offset: UInt64, isTombstone: Bool) {
    bits = offset | (isTombstone ? Self.tombstoneBit : 0)
  }
  @inline(__always) var offset: UInt64 { bits & Self.offsetMask }
  @inline(__always) var isTombstone: Bool { bits & Self.tombstoneBit != 0 }
}

/// Where the records that the write buffer refers to can be read.
///
/// Below `through` the mapping of the file has them. Above lie the operations of the transaction
/// that is running and of those that are queued for the disk; only the writer sees these, and asks
/// the log for them.
// SAFETY: readers hold the mapping through their version; only the writer has a `log`, and it
// outlives the transaction.
struct RecordSpace: @unchecked Sendable {
  var base: UnsafeRawPointer
  var through: UInt64
  var log: Unmanaged<LogFile>?

  @inline(__always) func start(_ reference: RecordReference) -> UnsafeRawPointer {
    let offset = reference.offset
    if offset < through { return base + Int(truncatingIfNeeded: offset) }
    return pending(offset)
  }

  @inline(__always) func record(_ reference: RecordReference) -> LogRecord {
    LogRecord(trusted: start(reference))
  }

  @inline(never) private func pending(_ offset: UInt64) -> UnsafeRawPointer {
    log?._withUnsafeGuaranteedRef { $0.record(at: offset) } ?? base
  }
}
