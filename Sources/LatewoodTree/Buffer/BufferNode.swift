import LatewoodBytes
import LatewoodFile
import Synchronization

/// A node of the write buffer: a view of raw memory from the buffer's slab.
///
/// ```
/// 0   born        u64   number of the version that made the node
/// 8   count       u16   entries of a leaf, children of a branch
/// 10  capacity    u16
/// 12  isBranch    u8
/// 13  prefixCount u8    bytes of `prefix` in use
/// 16  settled     u64   the change of a count by the node; see `BufferNode+Counting`
/// 24  prefix      40 bytes: the common prefix of all keys of the node, or a part of it
/// 64  heads       capacity x u32   first four bytes of each key after the prefix, big-endian
///     references  capacity x u64   the record of each key, or of each separator
///     children    capacity x u64   of a branch: the child whose keys are not less than the separator
///     sums        of a branch, capacity x i64: the change of a count by the children before each
///     tails       of a branch, capacity x 16: the bytes of each separator after its head
///     beneath     of a leaf, a bit for each entry: whether its key is beneath this buffer
/// ```
///
/// Entry 0 of a branch has no separator: its child contains everything below separator 1. Nodes
/// begin at multiples of 64, so that everything before the heads is in one cache line.
///
/// Invariants:
/// 1. Keys ascend strictly, and so do heads, except inside a run of equal heads.
/// 2. Every key of the node (every separator but the first) starts with the prefix.
/// 3. A node whose `born` is not the version being written is shared with readers and never
///    changed, except for the words in which they record counts: `settled`, `sums` and `beneath`.
/// 4. All nodes under a settled node are settled.
struct BufferNode {
  static let headerLength = 64
  static let prefixCapacity = 40
  static let branchCapacity = 96
  static let leafCapacity = 128
  static let leastLeafCapacity = 8
  /// The least capacity of a leaf under a branch.
  static let leastChildCapacity = 32
  /// The number of bytes of a leaf under a branch that are prefetched together: the header and up
  /// to 112 heads.
  static let touchedLength = 512

  let pointer: UnsafeMutableRawPointer

  @inline(__always) init(_ pointer: UnsafeMutableRawPointer) { self.pointer = pointer }

  @inline(__always) var born: UInt64 {
    get { pointer.load(as: UInt64.self) }
    nonmutating set { pointer.storeBytes(of: newValue, as: UInt64.self) }
  }
  @inline(__always) var count: Int {
    get { Int(pointer.load(fromByteOffset: 8, as: UInt16.self)) }
    nonmutating set {
      pointer.storeBytes(of: UInt16(truncatingIfNeeded: newValue), toByteOffset: 8, as: UInt16.self)
    }
  }
  @inline(__always) var capacity: Int { Int(pointer.load(fromByteOffset: 10, as: UInt16.self)) }
  @inline(__always) var isBranch: Bool { pointer.load(fromByteOffset: 12, as: UInt8.self) != 0 }
  @inline(__always) var prefixCount: Int {
    get { Int(pointer.load(fromByteOffset: 13, as: UInt8.self)) }
    nonmutating set {
      pointer.storeBytes(of: UInt8(truncatingIfNeeded: newValue), toByteOffset: 13, as: UInt8.self)
    }
  }
  @inline(__always) var prefix: UnsafeMutableRawPointer { pointer + 24 }
  @inline(__always) var heads: UnsafeMutablePointer<UInt32> {
    (pointer + Self.headerLength).assumingMemoryBound(to: UInt32.self)
  }
  @inline(__always) var references: UnsafeMutablePointer<UInt64> {
    (pointer + Self.headerLength + capacity &* 4).assumingMemoryBound(to: UInt64.self)
  }
  @inline(__always) var children: UnsafeMutablePointer<UnsafeMutableRawPointer> {
    (pointer + Self.headerLength + capacity &* 12).assumingMemoryBound(to: UnsafeMutableRawPointer.self)
  }
  // SAFETY: any word of a node is a valid Atomic<UInt64>, and this one lies at a multiple of 8.
  @inline(__always) var settled: UnsafeMutablePointer<Atomic<UInt64>> {
    (pointer + 16).assumingMemoryBound(to: Atomic<UInt64>.self)
  }
  @inline(__always) func reference(_ index: Int) -> RecordReference {
    RecordReference(bits: references[index])
  }
  @inline(__always) func child(_ index: Int) -> BufferNode { BufferNode(children[index]) }

  static func length(capacity: Int, isBranch: Bool) -> Int {
    headerLength
      + (isBranch ? capacity * (28 + KeyTail.length) : capacity * 12 + (capacity + 63) / 64 * 8)
  }

  func initialize(born: UInt64, capacity: Int, isBranch: Bool) {
    pointer.storeBytes(of: born, as: UInt64.self)
    pointer.storeBytes(of: 0, toByteOffset: 8, as: UInt16.self)
    pointer.storeBytes(of: UInt16(truncatingIfNeeded: capacity), toByteOffset: 10, as: UInt16.self)
    pointer.storeBytes(of: isBranch ? 1 : 0, toByteOffset: 12, as: UInt8.self)
    pointer.storeBytes(of: 0, toByteOffset: 13, as: UInt8.self)
    settled.pointee.store(0, ordering: .relaxed)
  }

  /// Copies the entries `from ..< to` of `source` to the indexes from `target`.
  func copyEntries(of source: BufferNode, _ from: Int, _ to: Int, at target: Int) {
    let moved = to &- from
    guard moved > 0 else { return }
    (heads + target).update(from: source.heads + from, count: moved)
    (references + target).update(from: source.references + from, count: moved)
    guard isBranch else { return }
    (children + target).update(from: source.children + from, count: moved)
    (tails + target).update(from: source.tails + from, count: moved)
  }

  func copyPrefix(of source: BufferNode) {
    prefixCount = source.prefixCount
    prefix.copyMemory(from: source.prefix, byteCount: source.prefixCount)
  }
}

// MARK: - Search

extension BufferNode {
  /// Returns the entry of a key in the tree under this node, and its record, verified against the
  /// tag. O(log n).
  @inline(__always) func entry(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (reference: RecordReference, record: LogRecord)? {
    var node = self
    while node.isBranch {
      node = node.child(try node.childIndex(key, keyCount, space))
      node.touchHeads()
    }
    let (index, found) = try node.position(of: key, keyCount, space)
    guard let found else { return nil }
    let reference = node.reference(index)
    try space.verify(found, reference)
    return (reference, found)
  }

  /// Compares a key with the node's prefix: negative if the key is below all keys with that prefix,
  /// positive if above, and 0 if it starts with it.
  @inline(__always) func comparePrefix(_ key: UnsafeRawPointer, _ keyCount: Int) -> Int {
    let length = prefixCount
    if length == 0 { return 0 }
    return KeyOrder.compare(key, keyCount < length ? keyCount : length, prefix, length)
  }

  /// Returns the index of the first entry of a leaf that is not less than the key, and whether it
  /// has that key.
  ///
  /// Throws `damaged` if one of the compared records has changed.
  @inline(__always) func lowerBound(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (index: Int, isFound: Bool) {
    let (index, found) = try position(of: key, keyCount, space)
    guard let found else { return (index, false) }
    try space.verify(found, reference(index))
    return (index, true)
  }

  /// Like `lowerBound`, but returns the found record and does not verify its tag, because that
  /// would read the value.
  @inline(__always) func position(
    of key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (index: Int, found: LogRecord?) {
    let total = count
    if total == 0 { return (0, nil) }
    let order = comparePrefix(key, keyCount)
    if order != 0 { return (order < 0 ? 0 : total, nil) }
    let skip = prefixCount
    let head = KeyOrder.head(key + skip, keyCount &- skip)
    let all = heads
    // The lines of a leaf are seldom in the CPU cache, and this fetches them in parallel.
    let low = Node.lowerBound(UnsafeRawPointer(all), 0, total, head)
    if low == total || all[low] != head { return (low, nil) }
    let high = endOfRun(from: low, total)
    return try position(of: key, keyCount, from: low, high, space)
  }

  /// Returns the index of the child under which a key belongs.
  @inline(__always) func childIndex(
    _ key: UnsafeRawPointer, _ keyCount: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> Int {
    let total = count
    if total <= 1 { return total &- 1 }
    let order = comparePrefix(key, keyCount)
    if order != 0 { return order < 0 ? 0 : total &- 1 }
    let skip = prefixCount
    let head = KeyOrder.head(key + skip, keyCount &- skip)
    var low = Node.lowerBound(UnsafeRawPointer(heads), 1, total, head)
    if low == total || heads[low] != head { return low &- 1 }
    var high = endOfRun(from: low, total)
    (low, high) = run(of: KeyTail(key + skip, keyCount &- skip), in: low, high)
    if low == high { return low &- 1 }
    let (index, found) = try position(of: key, keyCount, from: low, high, space)
    guard let found else { return index &- 1 }
    try space.verify(found, reference(index))
    return index
  }

  /// Compares complete keys. Returns the index of the first of the entries `from ..< to` that is
  /// not less than the key, and its record if it has that key.
  @inline(__always) private func position(
    of key: UnsafeRawPointer, _ keyCount: Int, from: Int, _ to: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) -> (index: Int, found: LogRecord?) {
    let skip = prefixCount
    var (low, high) = (from, to)
    while low < high {
      let middle = (low &+ high) &>> 1
      let reference = reference(middle)
      space.touchRest(of: reference)
      let record = try space.untagged(reference, least: skip)
      let order = KeyOrder.compare(key + skip, keyCount &- skip, record.key + skip, record.keyCount &- skip)
      if order == 0 { return (middle, record) }
      try space.verify(record, reference)
      if order < 0 { high = middle } else { low = middle &+ 1 }
    }
    return (low, nil)
  }

  /// Returns the end of the run of entries, up to `to`, with the same head as entry `low`.
  @inline(__always) private func endOfRun(from low: Int, _ to: Int) -> Int {
    let all = heads
    let head = all[low]
    let high = low &+ 1
    guard high < to, all[high] == head else { return high }
    return head == .max ? to : Node.lowerBound(UnsafeRawPointer(all), high, to, head &+ 1)
  }

  /// Prefetches the heads of a node under a branch.
  // SAFETY: the smallest such node has `touchedLength` bytes: a leaf of `leastChildCapacity`, whose
  // length the slab rounds up to a multiple of 64.
  @inline(__always) private func touchHeads() {
    var at = Self.headerLength
    while at < Self.touchedLength {
      (UnsafeRawPointer(pointer) + at).touch()
      at &+= 64
    }
  }
}

// MARK: - Prefix

extension BufferNode {
  /// Lengthens the prefix to the first `length` bytes of `key`, which all keys starting at `from`
  /// share, and updates the heads.
  private func lengthenPrefix(
    _ key: UnsafeRawPointer, _ length: Int, from: Int, _ space: borrowing RecordSpace
  ) throws(StorageError) {
    prefix.copyMemory(from: key, byteCount: length)
    prefixCount = length
    for index in from..<max(from, count) {
      let record = try space.record(reference(index), least: length)
      setHead(index, record.key + length, record.keyCount &- length)
    }
  }

  /// Shortens the prefix to its first `length` bytes, and updates the heads starting at `from`.
  /// Reads no records: heads gain the bytes that the prefix loses.
  private func shortenPrefix(to length: Int, from: Int) {
    let lost = prefixCount &- length
    let kept = isBranch ? 4 &+ KeyTail.length : 4
    prefixCount = length
    withUnsafeTemporaryAllocation(byteCount: lost &+ kept, alignment: 8) { memory in
      guard let bytes = memory.baseAddress else { return }
      bytes.copyMemory(from: prefix + length, byteCount: lost)
      for index in from..<max(from, count) {
        // SAFETY: the memory holds the lost bytes, a head, and the tail of a branch.
        (bytes + lost).storeBytes(of: heads[index].bigEndian, as: UInt32.self)
        if isBranch { tails[index].store(to: bytes + lost + 4) }
        setHead(index, bytes, kept)
      }
    }
  }

  /// Sets the head of an entry, and the tail of a separator, from the bytes of its key after the
  /// prefix.
  @inline(__always) func setHead(_ index: Int, _ rest: UnsafeRawPointer, _ restCount: Int) {
    heads[index] = KeyOrder.head(rest, restCount)
    if isBranch { tails[index] = KeyTail(rest, restCount) }
  }

  /// Shortens the prefix, if necessary, so that a key about to be inserted starts with it.
  @inline(__always) func fitPrefix(
    to key: UnsafeRawPointer, _ keyCount: Int, from: Int
  ) {
    if count <= from {
      let length = min(keyCount, Self.prefixCapacity)
      prefix.copyMemory(from: key, byteCount: length)
      prefixCount = length
    } else if comparePrefix(key, keyCount) != 0 {
      shortenPrefix(to: KeyOrder.commonPrefix(key, keyCount, prefix, prefixCount), from: from)
    }
  }

  /// Lengthens the prefix if too many heads are equal.
  func lengthenPrefixIfUseful(from: Int, _ space: borrowing RecordSpace) throws(StorageError) {
    let total = count
    guard total &- from > 8, prefixCount < Self.prefixCapacity else { return }
    var equal = 0
    for index in (from &+ 1)..<total where heads[index] == heads[index &- 1] { equal &+= 1 }
    guard equal &* 8 > total &- from else { return }
    let first = try space.record(reference(from))
    let last = try space.record(reference(total &- 1))
    let shared = min(
      KeyOrder.commonPrefix(first.key, first.keyCount, last.key, last.keyCount), Self.prefixCapacity)
    if shared > prefixCount { try lengthenPrefix(first.key, shared, from: from, space) }
  }
}

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
