import LatewoodBytes
import LatewoodQuery

/// The entries that a step of a build adds to an index.
///
/// Sorting only moves small positions, which are not reference-counted.
struct IndexBuildBuffer {
  /// A position with the start of its entry, for sorting.
  private struct Sorted {
    /// The eight bytes after the common prefix of all entries, big-endian: they distinguish most
    /// entries.
    let start: UInt64
    let place: UInt32
  }

  /// The entries. The entries of a document are appended before `noteKeys`.
  var keys = IndexKeyList()
  /// The head of each entry's document, if `keepsHeads`.
  private var heads: [DocumentRecord.Head] = []
  private let keepsHeads: Bool

  /// - Parameters:
  ///   - count: the expected number of entries.
  ///   - keepsHeads: whether to keep the head of each entry's document.
  init(count: Int, keepsHeads: Bool) {
    self.keepsHeads = keepsHeads
    keys.reserveCapacity(count)
    if keepsHeads { heads.reserveCapacity(count) }
  }

  /// The memory of the entries in bytes, including the memory for sorting them.
  var byteCount: Int {
    keys.byteCount
      &+ keys.places.count &* (MemoryLayout<IndexKeyList.Place>.stride &+ 2 &* MemoryLayout<Sorted>.stride)
  }

  /// Records the entries of a document that have been appended to `keys`.
  @inline(__always) mutating func noteKeys(of head: DocumentRecord.Head) {
    if keepsHeads {
      while heads.count < keys.places.count { heads.append(head) }
    }
  }

  /// Calls a closure with each entry, in the order of their bytes.
  func forEachSorted(_ body: (BuiltEntry) throws -> Void) throws {
    try keys.bytes.withUnsafeBytes { bytes in
      for sorted in self.sorted(bytes) {
        let place = keys.places[Int(sorted.place)]
        try body(
          BuiltEntry(
            bytes: IndexBuildBuffer.entry(place, in: bytes), keyCount: place.keyCount,
            isCut: place.isCut, lacksValue: place.lacksValue,
            head: keepsHeads ? heads[Int(sorted.place)] : nil))
      }
    }
  }

  private func sorted(_ bytes: UnsafeRawBufferPointer) -> [Sorted] {
    var sorted: [Sorted] = []
    let places = keys.places.span
    sorted.reserveCapacity(places.count)
    let shared = lengthShared(bytes)
    for number in places.indices {
      let rest = IndexBuildBuffer.entry(places[number], in: bytes).dropFirst(shared)
      sorted.append(
        Sorted(
          start: UnsafeRawBufferPointer(rebasing: rest).sortingStart,
          place: UInt32(truncatingIfNeeded: number)))
    }
    if sorted.count < IndexBuildBuffer.leastDistributed {
      sorted.sort { left, right in
        left.start == right.start ? precedes(left, right, in: bytes) : left.start < right.start
      }
      return sorted
    }
    distribute(&sorted)
    var first = 0
    while first < sorted.count {
      var end = first + 1
      while end < sorted.count, sorted[end].start == sorted[first].start { end += 1 }
      if end > first + 1 { sorted[first..<end].sort { precedes($0, $1, in: bytes) } }
      first = end
    }
    return sorted
  }

  /// Returns the length of the common prefix of all entries.
  private func lengthShared(_ bytes: UnsafeRawBufferPointer) -> Int {
    let places = keys.places.span
    guard let start = bytes.baseAddress, !places.isEmpty else { return 0 }
    let first = places[0]
    var shared = first.count
    for number in places.indices {
      let other = places[number]
      // SAFETY: all positions lie within the bytes.
      shared = KeyOrder.commonPrefix(start + first.offset, shared, start + other.offset, other.count)
    }
    return shared
  }

  /// The least number of entries for which distributing them by each byte takes less than comparing
  /// them.
  static let leastDistributed = 256

  /// Sorts by `start` alone, from the last byte to the first (a radix sort). Bytes that all entries
  /// have in common are skipped.
  private func distribute(_ sorted: inout [Sorted]) {
    var counts = [Int](repeating: 0, count: 8 * 256)
    var numbers = counts.mutableSpan
    for index in sorted.indices {
      let start = sorted[index].start
      for place in 0..<8 { numbers[IndexBuildBuffer.bucket(start, place)] &+= 1 }
    }
    var other = sorted
    for place in 0..<8 {
      if let entry = sorted.first, counts[IndexBuildBuffer.bucket(entry.start, place)] == sorted.count {
        continue
      }
      IndexBuildBuffer.distribute(sorted, by: place, &counts, to: &other)
      swap(&sorted, &other)
    }
  }

  /// Sorts entries by one byte, and keeps the order of equal ones.
  ///
  /// - Parameters:
  ///   - place: the position of the byte; 0 for the last one.
  ///   - counts: the number of entries in each bucket. The counts for this byte are consumed.
  private static func distribute(
    _ entries: [Sorted], by place: Int, _ counts: inout [Int], to target: inout [Sorted]
  ) {
    var places = counts.mutableSpan
    var next = 0
    for bucket in place &* 256..<(place &+ 1) &* 256 {
      let count = places[bucket]
      places[bucket] = next
      next &+= count
    }
    let entries = entries.span
    var target = target.mutableSpan
    for index in entries.indices {
      let bucket = bucket(entries[index].start, place)
      target[places[bucket]] = entries[index]
      places[bucket] &+= 1
    }
  }

  /// The number of the bucket for a byte of a start; each byte has 256 of them.
  @inline(__always) private static func bucket(_ start: UInt64, _ place: Int) -> Int {
    place &* 256 &+ Int(truncatingIfNeeded: start &>> UInt64(place &* 8) & 0xFF)
  }

  private func precedes(_ left: Sorted, _ right: Sorted, in bytes: UnsafeRawBufferPointer) -> Bool {
    let (left, right) = (keys.places[Int(left.place)], keys.places[Int(right.place)])
    guard let start = bytes.baseAddress else { return false }
    // SAFETY: all positions lie within the bytes.
    return KeyOrder.compare(start + left.offset, left.count, start + right.offset, right.count) < 0
  }

  @inline(__always) private static func entry(
    _ place: IndexKeyList.Place, in bytes: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: bytes[place.offset..<place.offset &+ place.count])
  }
}

/// An entry that a build adds to an index. It is valid only during the call that provided it.
struct BuiltEntry {
  /// The key, then the id.
  let bytes: UnsafeRawBufferPointer
  let keyCount: Int
  let isCut: Bool
  fileprivate let lacksValue: Bool
  /// The head of the document; nil if heads are not kept.
  let head: DocumentRecord.Head?

  var id: String { String(decoding: bytes[keyCount...], as: UTF8.self) }

  var indexKey: IndexKey {
    IndexKey(bytes: Array(bytes[..<keyCount]), isCut: isCut, lacksValue: lacksValue)
  }
}
