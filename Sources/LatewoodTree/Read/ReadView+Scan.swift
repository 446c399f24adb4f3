import LatewoodBytes
import LatewoodDevice
import LatewoodFile

extension ReadView {
  /// Calls `body` with each entry in `low ..< high`, a range of full keys, in order, until it
  /// returns false. O(log n + entries).
  ///
  /// The memory of a key is reused for the next key.
  ///
  /// - Parameter dropped: the number of bytes to remove from the start of each key: the length of
  ///   the keyspace's number. A shorter key throws `damaged`.
  /// - Parameter pin: a pin on the file's cache, if there is one, on which nothing else depends. It
  ///   is paused while `body` runs, so that even a long scan does not keep memory pinned; values of
  ///   up to 64 KiB are copied for this purpose.
  /// - Returns: the number of buffer entries passed, including deleted ones.
  @discardableResult
  package func scan(
    low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer, dropping dropped: Int, isReversed: Bool,
    pin: CachePin?, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Int {
    guard let lowStart = low.baseAddress, let highStart = high.baseAddress else { return 0 }
    var scratch = KeyScratch(dropping: dropped)
    if isClean, !isReversed, pin == nil {
      if try scanLeaf(lowStart, low.count, highStart, high.count, &scratch, body) { return 0 }
      var cursor = base.cursor()
      _ = try cursor.seek(lowStart, low.count)
      try scanBase(from: &cursor, highStart, high.count, &scratch, body)
      return 0
    }
    if isClean, isReversed, pin == nil {
      var cursor = base.cursor()
      _ = try cursor.seekLast(before: highStart, high.count)
      try scanBaseBackwards(from: &cursor, lowStart, low.count, &scratch, body)
      return 0
    }
    var cursor = MergedCursor(self)
    if isReversed {
      try cursor.positionBefore(highStart, high.count)
      if pin == nil, var base = cursor.onlyBase(downTo: lowStart, low.count) {
        try scanBaseBackwards(from: &base, lowStart, low.count, &scratch, body)
        return cursor.steps
      }
      try cursor.settleBackward()
    } else {
      try cursor.position(lowStart, low.count)
      if pin == nil, var base = cursor.onlyBase(before: highStart, high.count) {
        try scanBase(from: &base, highStart, high.count, &scratch, body)
        return cursor.steps
      }
      try cursor.settleForward()
    }
    var copy: [UInt8] = []
    let file = base.source.file
    var isFirst = true
    while cursor.isValid {
      if isReversed {
        if cursor.compareKey(lowStart, low.count) < 0 { break }
      } else if pin == nil,
        let (leaf, wanted) = cursor.unmergedEntries(before: highStart, high.count, isFirst: isFirst)
      {
        guard try offer(leaf, wanted, in: file, &scratch, body) else { break }
        try cursor.passLeaf()
        continue
      } else if cursor.compareKey(highStart, high.count) >= 0 {
        break
      }
      isFirst = false
      // The value is read first: if it lies within the file, so does the key before it.
      let value = try cursor.value()
      let key = try scratch.take(cursor.key).bytes
      if let pin {
        guard try offer(key, value, &copy, pin, body) else { break }
        if pin.resume() { try cursor.reload() }
      } else {
        guard try body(key, value.bytes) else { break }
      }
      if isReversed { try cursor.previous() } else { try cursor.next() }
      if pin == nil, !isReversed { cursor.touchAhead() }
    }
    return cursor.steps
  }

  /// Passes an entry to `body`, with the pin paused unless the value is too long to be copied.
  private func offer(
    _ key: RawSpan, _ value: UnsafeRawBufferPointer, _ copy: inout [UInt8], _ pin: CachePin,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Bool {
    guard value.count <= ReadView.copiedLength else {
      let goesOn = try body(key, value.bytes)
      pin.pause()
      return goesOn
    }
    copy.removeAll(keepingCapacity: true)
    copy.append(contentsOf: value)
    pin.pause()
    return try body(key, copy.span.bytes)
  }

  /// The maximum length of a value that is copied. Longer ones are passed in place.
  private static let copiedLength = 64 << 10

  /// Scans the base tree alone, leaf by leaf, without a comparison for each entry.
  private func scanBase(
    from cursor: inout BaseCursor, _ high: UnsafeRawPointer, _ highCount: Int,
    _ scratch: inout KeyScratch, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    let file = base.source.file
    while cursor.isValid {
      let leaf = cursor.leaf
      let isLast = leaf.key(leaf.count &- 1).compare(high, highCount) >= 0
      let end = isLast ? leaf.lowerBound(high, highCount).index : leaf.count
      let wanted = cursor.index..<max(cursor.index, end)
      guard try offer(leaf, wanted, in: file, &scratch, body) else { return }
      if isLast { return }
      _ = try cursor.nextLeaf()
    }
  }

  /// Scans a range of the base tree without a cursor if it lies within one leaf; otherwise does
  /// nothing and returns false.
  private func scanLeaf(
    _ low: UnsafeRawPointer, _ lowCount: Int, _ high: UnsafeRawPointer, _ highCount: Int,
    _ scratch: inout KeyScratch, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Bool {
    if try base.rootDivides(low, lowCount, high, highCount) { return false }
    guard let leaf = try base.leaf(for: low, lowCount) else { return true }
    guard leaf.key(leaf.count &- 1).compare(high, highCount) >= 0 else { return false }
    let start = leaf.lowerBound(low, lowCount).index
    let end = leaf.lowerBound(high, highCount).index
    guard start < end else { return true }
    _ = try offer(leaf, start..<end, in: base.source.file, &scratch, body)
    return true
  }

  /// Like `scanBase`, from the position of the cursor down to `low`.
  private func scanBaseBackwards(
    from cursor: inout BaseCursor, _ low: UnsafeRawPointer, _ lowCount: Int,
    _ scratch: inout KeyScratch, _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws {
    let file = base.source.file
    while cursor.isValid {
      let leaf = cursor.leaf
      let isLast = leaf.key(0).compare(low, lowCount) < 0
      let start = isLast ? leaf.lowerBound(low, lowCount).index : 0
      let entries = LeafEntries(leaf)
      try scratch.start(leaf.prefix, leaf.prefixCount)
      var index = cursor.index
      while index >= start {
        let cell = entries[index]
        if cell.value.isExtent, (cursor.index &- index) & (LeafEntries.touchCount &- 1) == 1 {
          entries.touchExtents(max(index &+ 1 &- LeafEntries.touchCount, start)..<(index &+ 1), in: file)
        }
        // The value is read first: if it lies within the file, so does the key before it.
        let value = try cell.value.bytes(in: file)
        guard try body(scratch.take(cell.suffix, cell.suffixCount).bytes, value.bytes) else { return }
        index &-= 1
      }
      if isLast { return }
      _ = try cursor.previousLeaf()
    }
  }

  /// Passes entries of a leaf to `body`; returns false if `body` does.
  @inline(__always) private func offer(
    _ leaf: Node, _ wanted: Range<Int>, in file: FileView, _ scratch: inout KeyScratch,
    _ body: (_ key: RawSpan, _ value: RawSpan) throws -> Bool
  ) throws -> Bool {
    let entries = LeafEntries(leaf)
    try scratch.start(leaf.prefix, leaf.prefixCount)
    for index in wanted {
      let cell = entries[index]
      if cell.value.isExtent, (index &- wanted.lowerBound) & (LeafEntries.touchCount &- 1) == 1 {
        let end = min(index &+ LeafEntries.touchCount, wanted.upperBound)
        entries.touchExtents(index..<end, in: file)
      }
      // The value is read first: if it lies within the file, so does the key before it.
      let value = try cell.value.bytes(in: file)
      guard try body(scratch.take(cell.suffix, cell.suffixCount).bytes, value.bytes) else { return false }
    }
    return true
  }
}

/// Memory in which the prefix and suffix of a key are joined.
///
/// A verified node may have changed on the disk and been read again since, so a length greater than
/// that of any key throws `damaged`.
struct KeyScratch: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  private var prefixCount = 0
  private let dropped: Int

  /// - Parameter dropped: the number of bytes at the start of each key that `take` removes.
  init(dropping dropped: Int = 0) {
    self.dropped = dropped
    capacity = 512
    memory = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { memory.deallocate() }

  /// Grows the memory for a key of `length` bytes, keeping the first `kept`.
  @inline(never) private mutating func reserve(_ length: Int, keeping kept: Int) throws(StorageError) {
    guard length >= kept, length >= dropped, length <= NodeLayout.maximumKeyLength else {
      throw StorageError(.damaged, "the length of a key is impossible: its node has changed")
    }
    let larger = UnsafeMutableRawPointer.allocate(byteCount: length * 2, alignment: 8)
    larger.copyMemory(from: memory, byteCount: kept)
    memory.deallocate()
    memory = larger
    capacity = length * 2
  }

  /// Stores the prefix of the following keys.
  @inline(__always) mutating func start(_ prefix: UnsafeRawPointer, _ count: Int) throws(StorageError) {
    if UInt(bitPattern: count) > UInt(bitPattern: capacity) { try reserve(count, keeping: 0) }
    memory.copyMemory(from: prefix, byteCount: count)
    prefixCount = count
  }

  /// Returns the prefix followed by a suffix, without the removed bytes.
  @inline(__always) mutating func take(
    _ suffix: UnsafeRawPointer, _ count: Int
  ) throws(StorageError) -> UnsafeRawBufferPointer {
    let length = prefixCount &+ count
    let rest = length &- dropped
    // Also true for a key shorter than the bytes to remove.
    if UInt(bitPattern: rest) > UInt(bitPattern: capacity &- dropped) {
      try reserve(length, keeping: prefixCount)
    }
    (memory + prefixCount).copyShort(from: suffix, count: count)
    return UnsafeRawBufferPointer(start: memory + dropped, count: rest)
  }

  @inline(__always) mutating func take(_ key: PrefixedKey) throws(StorageError) -> UnsafeRawBufferPointer {
    try start(key.prefix, key.prefixCount)
    return try take(key.suffix, key.suffixCount)
  }
}
