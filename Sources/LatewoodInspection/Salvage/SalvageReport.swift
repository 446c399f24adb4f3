/// The course of a salvage, and its losses. The sink counts the saved entries.
package struct SalvageReport: Sendable, Equatable {
  /// A range of keys whose node or value in the tree was damaged.
  package struct LostRange: Sendable, Equatable {
    package enum What: String, Sendable {
      case leaf, branch, value, tree
    }
    package var what: What
    /// The offset and length of the damaged node or value in the file, in bytes.
    package var offset: UInt64
    package var length: UInt64
    /// The full keys from `low`, inclusive, to `high`, exclusive; nil means no bound.
    package var low: [UInt8]
    package var high: [UInt8]?
    /// The number of entries that the range had, according to the tree above; nil if it is not
    /// known.
    package var expected: UInt64?
    /// The number of entries in the range now.
    package var saved: UInt64 = 0

    package init(
      what: What, offset: UInt64, length: UInt64, low: [UInt8], high: [UInt8]?, expected: UInt64? = nil
    ) {
      self.what = what
      self.offset = offset
      self.length = length
      self.low = low
      self.high = high
      self.expected = expected
    }
  }

  /// Damage in the part of the log that no tree contains.
  package struct DamagedLog: Sendable, Equatable {
    package var range: Range<UInt64>
    /// The transactions that were in it, at least in part; nil if there were none, or they are not
    /// known.
    package var transactions: ClosedRange<UInt64>?
    /// The number of operations that were read before and after the damage.
    package var operations: UInt64 = 0
    /// Whether nothing in the file proves that these bytes had ever been committed.
    package var isUnacknowledged = false
  }

  package var fileSize: UInt64 = 0
  package var origin = SalvageIdentity.Origin.header
  /// The offset of the checkpoint whose tree was read; nil if none was found.
  package var checkpoint: UInt64?
  /// The newest transaction that was salvaged, as far as it could be read.
  package var transaction: UInt64 = 0
  package var isRootSlotDamaged = false
  /// The lost ranges, at most `listLimit`; `lostRangeCount` is their full number.
  package var lostRanges: [LostRange] = []
  package var lostRangeCount: UInt64 = 0
  package var damagedLog: [DamagedLog] = []
  private var missingBeyondList: UInt64 = 0
  /// The blocks that the disk could not read.
  package var unreadable: [Range<UInt64>] = []
  /// Whether everything that the newest state needs is undamaged.
  package var isWhole: Bool {
    lostRangeCount == 0 && damagedLog.isEmpty && unreadable.isEmpty
  }

  package static let listLimit = 1000
  package init() {}

  mutating func note(_ ranges: [LostRange]) {
    for range in ranges {
      // Two runs over parts of one file may find the same damage.
      if let index = lostRanges.firstIndex(where: { $0.offset == range.offset && $0.what == range.what }),
        lostRanges[index].high == range.low || range.what == .leaf
      {
        lostRanges[index].saved += range.saved
        lostRanges[index].high = range.high
        continue
      }
      lostRangeCount += 1
      if lostRanges.count < Self.listLimit {
        lostRanges.append(range)
      } else {
        missingBeyondList += range.missing
      }
    }
  }

  /// Merges a report on other keys of the same file.
  package mutating func merge(_ other: SalvageReport) {
    let beyond = other.lostRangeCount - UInt64(other.lostRanges.count)
    note(other.lostRanges)
    lostRangeCount += beyond
    missingBeyondList += other.missingBeyondList
    for damage in other.damagedLog {
      if let index = damagedLog.firstIndex(where: { $0.range == damage.range }) {
        damagedLog[index].operations = max(damagedLog[index].operations, damage.operations)
      } else {
        damagedLog.append(damage)
      }
    }
    transaction = max(transaction, other.transaction)
    unreadable = other.unreadable
  }

  /// The number of entries that existed, according to the rest of the tree, and were not saved in
  /// any version.
  package var missing: UInt64 { lostRanges.reduce(missingBeyondList) { $0 + $1.missing } }
}

extension SalvageReport.LostRange {
  package var missing: UInt64 { max(expected ?? 0, saved) - saved }
}
