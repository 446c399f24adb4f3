import LatewoodBytes
import LatewoodFile
import Synchronization

/// By how many entries a write buffer changes what lies beneath it, without going through them.
///
/// ```
/// entry     its key is beneath    is not
/// put       0                     +1
/// delete    -1                    0
/// ```
///
/// Whether a key is beneath is the same for all versions that show the entry. The writer says so if
/// it knows; else the first reader who counts over the leaf looks it up and notes it there: the
/// leaf is *settled*. A branch is settled by adding up its children. Several readers may do so at
/// once, and find the same. The writer takes what they found over into the nodes that it makes in
/// the place of settled ones.
extension BufferNode {
  /// Says whether what lies beneath the buffer has a key.
  typealias Lookup = (_ key: UnsafeRawPointer, _ keyCount: Int) throws(Fault) -> Bool

  /// The change by the entries from one key on and below another; nil is no bound.
  ///
  /// O(log n), and a lookup for each entry in the leaves of the range that nobody has known or
  /// looked up before.
  func change(
    from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace, _ isBeneath: Lookup
  ) throws(Fault) -> Int {
    guard low != nil || high != nil else { return try settle(space, isBeneath) }
    if !isBranch {
      let (first, end) = try entries(from: low, below: high, space)
      guard first < end else { return 0 }
      _ = try settle(space, isBeneath)
      return change(first..<end)
    }
    let (first, last) = try edges(from: low, below: high, space)
    if first == last { return try child(first).change(from: low, below: high, space, isBeneath) }
    guard first < last else { return 0 }
    return try child(first).change(from: low, below: nil, space, isBeneath)
      &+ change(children: first + 1, last, space, isBeneath)
      &+ child(last).change(from: nil, below: high, space, isBeneath)
  }

  /// The change by children `first ..< end` of a branch.
  private func change(
    children first: Int, _ end: Int, _ space: borrowing RecordSpace, _ isBeneath: Lookup
  ) throws(Fault) -> Int {
    if first < end, settledChange != nil { return sum(end) &- sum(first) }
    var total = 0
    for index in first..<end { total &+= try child(index).settle(space, isBeneath) }
    return total
  }

  /// The change by all entries, which is found out now if it is not known.
  private func settle(_ space: borrowing RecordSpace, _ isBeneath: Lookup) throws(Fault) -> Int {
    if let settledChange { return settledChange }
    var total = 0
    if isBranch {
      for index in 0..<count {
        setSum(index, total)
        total &+= try child(index).settle(space, isBeneath)
      }
    } else {
      for first in stride(from: 0, to: count, by: 64) { try lookUp(first, space, isBeneath) }
      total = change(0..<count)
    }
    settled.pointee.store(UInt64(bitPattern: Int64(total)) &<< 1 | 1, ordering: .releasing)
    return total
  }

  /// Notes which of 64 entries of a leaf have keys that are beneath.
  private func lookUp(
    _ first: Int, _ space: borrowing RecordSpace, _ isBeneath: Lookup
  ) throws(Fault) {
    var bits: UInt64 = 0
    for index in first..<min(first + 64, count) {
      let reference = reference(index)
      if let known = reference.isBeneath {
        if !known { continue }
      } else {
        let record = try space.record(reference)
        if try !isBeneath(record.key, record.keyCount) { continue }
      }
      bits |= 1 &<< UInt64(index &- first)
    }
    beneath(first).pointee.store(bits, ordering: .relaxed)
  }

  /// The change by some entries of a leaf all of which were looked up.
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
  /// The last key of an entry, or of a separator on the way to it, that satisfies a condition, as
  /// all lesser ones do. O(log n) calls.
  func last(
    in space: borrowing RecordSpace,
    where isBefore: (_ key: UnsafeRawPointer, _ keyCount: Int) throws(Fault) -> Bool
  ) throws(Fault) -> [UInt8]? {
    var last: LogRecord?
    var node = self
    while true {
      // Entry 0 of a branch has no key: everything belongs under it that belongs under no other.
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

/// A full key where it lies.
struct KeyPointer {
  let start: UnsafeRawPointer
  let count: Int
}

// MARK: - What readers note in nodes

// SAFETY: `sums` and `beneath` lie inside of the node, by `length(capacity:isBranch:)`, at
// multiples of 8, and are only accessed atomically.
extension BufferNode {
  private func word(_ offset: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (pointer + offset).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  /// The bits of entry `index` of a leaf and of its neighbours.
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

  /// By how many entries the node changes what lies beneath; nil: nobody has found out.
  private var settledChange: Int? {
    let word = settled.pointee.load(ordering: .acquiring)
    return word == 0 ? nil : Int(truncatingIfNeeded: Int64(bitPattern: word) &>> 1)
  }

  // MARK: Where a range begins and ends

  /// The entries of a leaf from one key on and below another.
  func entries(
    from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(Fault) -> (first: Int, end: Int) {
    var (first, end) = (0, count)
    if let low { first = try lowerBound(low.start, low.count, from: 0, space).index }
    if let high { end = try lowerBound(high.start, high.count, from: 0, space).index }
    return (first, end)
  }

  /// The children of a branch that the bounds of a range belong under.
  func edges(
    from low: KeyPointer?, below high: KeyPointer?, _ space: borrowing RecordSpace
  ) throws(Fault) -> (first: Int, last: Int) {
    var (first, last) = (0, count &- 1)
    if let low { first = try childIndex(low.start, low.count, space) }
    if let high { last = try childIndex(high.start, high.count, space) }
    return (first, last)
  }

  // MARK: The writer's part

  /// Takes over what readers found out about the entries of a leaf: those of `source` are this
  /// node's, which nobody else sees.
  func learn(from source: BufferNode) {
    if isBranch || source.settledChange == nil { return }
    for index in 0..<count {
      var reference = reference(index)
      let bits = source.beneath(index).pointee.load(ordering: .relaxed)
      reference.isBeneath = bits & (1 &<< UInt64(index & 63)) != 0
      references[index] = reference.bits
    }
  }

  /// Before a change of a node that nobody else sees.
  @inline(__always) func unsettle() {
    if !isSettled { return }
    learn(from: self)
    settled.pointee.store(0, ordering: .relaxed)
  }
}
