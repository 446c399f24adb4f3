import LatewoodBytes
import LatewoodFile

extension ReadView {
  /// Gives each entry of a range to `body`, in order, until it returns false. Full keys; low is in
  /// the range, high is not.
  ///
  /// The bytes are valid during the call; the key lies in memory that is used again for the next
  /// one. O(log n + entries).
  package func scan(
    low: UnsafeRawBufferPointer, high: UnsafeRawBufferPointer, isReversed: Bool,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    guard let lowStart = low.baseAddress, let highStart = high.baseAddress else { return }
    if isClean, !isReversed {
      return try scanBase(lowStart, low.count, highStart, high.count, body)
    }
    var cursor = MergedCursor(self)
    var scratch = KeyScratch()
    if isReversed {
      try cursor.seekBefore(highStart, high.count)
    } else {
      try cursor.seek(lowStart, low.count)
    }
    while cursor.isValid {
      if isReversed {
        if cursor.compareKey(lowStart, low.count) < 0 { return }
      } else if cursor.compareKey(highStart, high.count) >= 0 {
        return
      }
      if try !body(scratch.take(cursor.key), cursor.value()) { return }
      if isReversed { try cursor.previous() } else { try cursor.next() }
    }
  }

  /// The same over the base tree alone: leaf by leaf, without a comparison for each entry.
  private func scanBase(
    _ low: UnsafeRawPointer, _ lowCount: Int, _ high: UnsafeRawPointer, _ highCount: Int,
    _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Bool
  ) throws {
    var cursor = base.cursor()
    var scratch = KeyScratch()
    _ = try cursor.seek(low, lowCount)
    let file = base.source.file
    while cursor.isValid {
      let leaf = cursor.leaf
      let isLast = leaf.key(leaf.count &- 1).compare(high, highCount) >= 0
      let end = isLast ? leaf.lowerBound(high, highCount).index : leaf.count
      var index = cursor.index
      scratch.start(leaf.prefix, leaf.prefixCount)
      while index < end {
        let cell = leaf.entry(index)
        if try !body(scratch.take(cell.suffix, cell.suffixCount), cell.value.bytes(in: file)) { return }
        index &+= 1
      }
      if isLast { return }
      _ = try cursor.nextLeaf()
    }
  }
}

/// Memory in which the two pieces of a key are put together.
struct KeyScratch: ~Copyable {
  private var memory: UnsafeMutableRawPointer
  private var capacity: Int
  private var prefixCount = 0

  init() {
    capacity = 512
    memory = .allocate(byteCount: capacity, alignment: 8)
  }

  deinit { memory.deallocate() }

  private mutating func reserve(_ length: Int, keeping kept: Int) {
    guard length > capacity else { return }
    let larger = UnsafeMutableRawPointer.allocate(byteCount: length * 2, alignment: 8)
    larger.copyMemory(from: memory, byteCount: kept)
    memory.deallocate()
    memory = larger
    capacity = length * 2
  }

  /// Keeps the prefix of the keys that come next.
  @inline(__always) mutating func start(_ prefix: UnsafeRawPointer, _ count: Int) {
    reserve(count, keeping: 0)
    memory.copyMemory(from: prefix, byteCount: count)
    prefixCount = count
  }

  /// The prefix with a suffix after it.
  @inline(__always) mutating func take(_ suffix: UnsafeRawPointer, _ count: Int) -> UnsafeRawBufferPointer {
    let length = prefixCount &+ count
    if length > capacity { reserve(length, keeping: prefixCount) }
    (memory + prefixCount).copyMemory(from: suffix, byteCount: count)
    return UnsafeRawBufferPointer(start: memory, count: length)
  }

  @inline(__always) mutating func take(_ key: SplitKey) -> UnsafeRawBufferPointer {
    start(key.prefix, key.prefixCount)
    return take(key.suffix, key.suffixCount)
  }
}
