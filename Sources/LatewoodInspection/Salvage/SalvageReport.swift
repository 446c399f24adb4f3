/// What a salvage went through, and what is gone. What was saved is counted by whoever took it.
package struct SalvageReport: Sendable, Equatable {
  /// A range of keys whose place in the tree was damaged.
  package struct LostRange: Sendable, Equatable {
    package enum What: String, Sendable {
      case leaf, branch, value, tree
    }
    package var what: What
    /// Of the damaged node or value in the file, in bytes.
    package var offset: UInt64
    package var length: UInt64
    /// Full keys: from `low` on and before `high`; nil is no bound.
    package var low: [UInt8]
    package var high: [UInt8]?
    /// Entries that were there, as the tree above says; nil where that is not known.
    package var expected: UInt64?
    /// Entries that are in the range now.
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

  /// Damage in the part of the log that no tree holds.
  package struct DamagedLog: Sendable, Equatable {
    package var range: Range<UInt64>
    /// Transactions that were, in whole or in part, in it. Nil: not known, or none.
    package var transactions: ClosedRange<UInt64>?
    /// Operations that were read beside the damage.
    package var operations: UInt64 = 0
    /// Nothing in the file says that what was here had ever been committed.
    package var isUnacknowledged = false
  }

  package var fileSize: UInt64 = 0
  package var origin = SalvageIdentity.Origin.header
  /// Of the checkpoint whose tree was read; nil if none was found.
  package var checkpoint: UInt64?
  /// The newest transaction of which everything that could be read was taken.
  package var transaction: UInt64 = 0
  package var isRootSlotDamaged = false
  /// At most `listLimit`; `lostRangeCount` is the whole number.
  package var lostRanges: [LostRange] = []
  package var lostRangeCount: UInt64 = 0
  package var damagedLog: [DamagedLog] = []
  private var missingBeyondList: UInt64 = 0
  /// Blocks that the disk would not give.
  package var unreadable: [Range<UInt64>] = []
  /// Nothing that the newest state needs was found damaged.
  package var isWhole: Bool {
    lostRangeCount == 0 && damagedLog.isEmpty && unreadable.isEmpty
  }

  package static let listLimit = 1000
  package init() {}

  mutating func note(_ ranges: [LostRange]) {
    for range in ranges {
      // What two runs over parts of one file found is one thing.
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

  /// Puts this report on other keys of the same file and `other` together.
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

  /// Entries that were there, as what is left of the tree says, and were not saved in any version.
  package var missing: UInt64 { lostRanges.reduce(missingBeyondList) { $0 + $1.missing } }
}

extension SalvageReport.LostRange {
  package var missing: UInt64 { max(expected ?? 0, saved) - saved }
}
