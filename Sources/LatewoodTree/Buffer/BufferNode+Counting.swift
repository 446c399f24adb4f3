import LatewoodBytes
import LatewoodFile
import Synchronization

/// Computes a write buffer's net effect on the number of entries, without visiting each entry of
/// the buffer.
///
/// ```
/// entry     its key is beneath    is not
/// put       0                     +1
/// delete    -1                    0
/// ```
///
/// Whether the layers beneath have a key is the same in all versions with the entry. The writer
/// records the answer if it knows it. Otherwise the first reader that counts the leaf looks the key
/// up and records the answer in the leaf, which makes the leaf *settled*. A branch is settled by
/// adding up its children. Several readers may do this concurrently, with the same result. The
/// writer copies their results into nodes that replace settled ones.
extension BufferNode {
  /// A function that returns whether the layers beneath the buffer have a key.
  typealias Lookup = (_ key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> Bool

  /// Returns the change by the entries in `low ..< high`; nil means no bound.
  ///
  /// O(log n), plus a lookup for each entry in the range's leaves for which it was not yet known
  /// whether its key is beneath.
  func change(
    from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace, _ existsBelow: Lookup
  ) throws(StorageError) -> Int {
    guard low != nil || high != nil else { return try settle(space, existsBelow) }
    if !isBranch {
      let (first, end) = try entries(from: low, below: high, space)
      guard first < end else { return 0 }
      _ = try settle(space, existsBelow)
      return change(first..<end)
    }
    let (first, last) = try edges(from: low, below: high, space)
    if first == last { return try child(first).change(from: low, below: high, space, existsBelow) }
    guard first < last else { return 0 }
    return try child(first).change(from: low, below: nil, space, existsBelow)
      &+ change(children: first + 1, last, space, existsBelow)
      &+ child(last).change(from: nil, below: high, space, existsBelow)
  }

  /// Returns the record of the put at `index` among the puts in `low ..< high`, whose keys must all
  /// be absent beneath; nil if there are fewer. O(log n), plus the time of `change`.
  func put(
    at index: Int, from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace,
    _ existsBelow: Lookup
  ) throws(StorageError) -> LogRecord? {
    var rest = index
    guard isBranch else {
      let (first, end) = try entries(from: low, below: high, space)
      for entry in first..<max(first, end) where !reference(entry).isTombstone {
        if rest == 0 { return try space.record(reference(entry)) }
        rest &-= 1
      }
      return nil
    }
    let (first, last) = try edges(from: low, below: high, space)
    guard first < last else {
      return try child(first).put(at: rest, from: low, below: high, space, existsBelow)
    }
    let before = try child(first).change(from: low, below: nil, space, existsBelow)
    if rest < before { return try child(first).put(at: rest, from: low, below: nil, space, existsBelow) }
    rest &-= before
    var (start, end) = (first + 1, last)
    while start < end {
      let middle = (start &+ end) &>> 1
      if try change(children: first + 1, middle + 1, space, existsBelow) <= rest {
        start = middle &+ 1
      } else {
        end = middle
      }
    }
    rest &-= try change(children: first + 1, start, space, existsBelow)
    return try child(start).put(at: rest, from: nil, below: start == last ? high : nil, space, existsBelow)
  }

  /// Returns the change by children `first ..< end` of a branch.
  private func change(
    children first: Int, _ end: Int, _ space: borrowing RecordSpace, _ existsBelow: Lookup
  ) throws(StorageError) -> Int {
    if first < end, settledChange != nil { return sum(end) &- sum(first) }
    var total = 0
    for index in first..<end { total &+= try child(index).settle(space, existsBelow) }
    return total
  }

  /// Returns the change by all entries. Computes it the first time, and settles the node.
  private func settle(_ space: borrowing RecordSpace, _ existsBelow: Lookup) throws(StorageError) -> Int {
    if let settledChange { return settledChange }
    var total = 0
    if isBranch {
      for index in 0..<count {
        setSum(index, total)
        total &+= try child(index).settle(space, existsBelow)
      }
    } else {
      for first in stride(from: 0, to: count, by: 64) { try lookUp(first, space, existsBelow) }
      total = change(0..<count)
    }
    settled.pointee.store(UInt64(bitPattern: Int64(total)) &<< 1 | 1, ordering: .releasing)
    return total
  }

  /// Records which of 64 entries of a leaf have keys that exist beneath.
  private func lookUp(
    _ first: Int, _ space: borrowing RecordSpace, _ existsBelow: Lookup
  ) throws(StorageError) {
    var bits: UInt64 = 0
    for index in first..<min(first + 64, count) {
      let reference = reference(index)
      if let known = reference.existsBelow {
        if !known { continue }
      } else {
        let record = try space.record(reference)
        if try !existsBelow(record.key, record.keyCount) { continue }
      }
      bits |= 1 &<< UInt64(index &- first)
    }
    beneath(first).pointee.store(bits, ordering: .relaxed)
  }

  /// Returns the change by a range of entries of a settled leaf.
  private func change(_ entries: Range<Int>) -> Int {
    var total = 0
    for index in entries { total &+= reference(index).isTombstone ? 0 : 1 }
    var index = entries.lowerBound
    while index < entries.upperBound {
      let end = min((index | 63) &+ 1, entries.upperBound)
      let bits = beneath(index).pointee.load(ordering: .relaxed) &>> UInt64(index & 63)
      total &-= (bits << UInt64(64 &- (end &- index))).nonzeroBitCount
      index = end
    }
    return total
  }
}

extension BufferNode {
  /// Returns the last key, of an entry or a separator on the path to it, for which `isBefore` is
  /// true. It must be true for all lesser keys. O(log n) calls.
  func last(
    in space: borrowing RecordSpace,
    where isBefore: (_ key: UnsafeRawPointer, _ keyCount: Int) throws(StorageError) -> Bool
  ) throws(StorageError) -> [UInt8]? {
    var last: LogRecord?
    var node = self
    while true {
      // Entry 0 of a branch has no key: everything below separator 1 belongs under it.
      var low = node.isBranch ? 1 : 0
      var high = node.count
      while low < high {
        let middle = (low &+ high) &>> 1
        let record = try space.record(node.reference(middle))
        if try isBefore(record.key, record.keyCount) {
          last = record
          low = middle &+ 1
        } else {
          high = middle
        }
      }
      if !node.isBranch {
        return last.map { Array(UnsafeRawBufferPointer(start: $0.key, count: $0.keyCount)) }
      }
      node = node.child(low &- 1)
    }
  }
}

// MARK: - Counts that readers record in nodes

// SAFETY: `sums` and `beneath` lie inside the node, by `length(capacity:isBranch:)`, at multiples
// of 8, and are only accessed atomically.
extension BufferNode {
  private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (pointer + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// The word that contains the bit of entry `index` of a leaf.
  private func beneath(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    word(Self.headerLength &+ capacity &* 12 &+ (index &>> 6) &* 8)
  }

  private func sumWord(_ index: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    word(Self.headerLength &+ capacity &* 20 &+ index &* 8)
  }

  private func sum(_ index: Int) -> Int {
    Int(truncatingIfNeeded: sumWord(index).pointee.load(ordering: .relaxed))
  }

  private func setSum(_ index: Int, _ sum: Int) {
    sumWord(index).pointee.store(UInt64(truncatingIfNeeded: sum), ordering: .relaxed)
  }

  @inline(__always) var isSettled: Bool { settled.pointee.load(ordering: .relaxed) != 0 }

  /// The number of entries by which the node changes the layers beneath; nil if it is not settled.
  private var settledChange: Int? {
    let word = settled.pointee.load(ordering: .acquiring)
    return word == 0 ? nil : Int(truncatingIfNeeded: Int64(bitPattern: word) &>> 1)
  }

  // MARK: Bounds of a range

  /// Returns the entries of a leaf in `low ..< high`.
  func entries(
    from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (first: Int, end: Int) {
    var (first, end) = (0, count)
    if let low { first = try lowerBound(low.start, low.count, space).index }
    if let high { end = try lowerBound(high.start, high.count, space).index }
    return (first, end)
  }

  /// Returns the children of a branch under which the bounds of a range belong.
  func edges(
    from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (first: Int, last: Int) {
    var (first, last) = (0, count &- 1)
    if let low { first = try childIndex(low.start, low.count, space) }
    if let high { last = try childIndex(high.start, high.count, space) }
    return (first, last)
  }

  // MARK: Writing

  /// Copies the results of readers from `source`, a leaf with the same entries, into this private
  /// leaf.
  func copyCounts(from source: BufferNode) {
    if isBranch || source.settledChange == nil { return }
    for index in 0..<count {
      var reference = reference(index)
      let bits = source.beneath(index).pointee.load(ordering: .relaxed)
      reference.existsBelow = bits & (1 &<< UInt64(index & 63)) != 0
      references[index] = reference.bits
    }
  }

  /// Prepares a private node for a change: moves the results of readers into its entries and makes
  /// it unsettled.
  @inline(__always) func unsettle() {
    if !isSettled { return }
    copyCounts(from: self)
    settled.pointee.store(0, ordering: .relaxed)
  }
}
