import LatewoodBytes
import LatewoodQuery

/// The entries that a step of a build adds to an index.
///
/// Their bytes are in one array. Sorting moves only small places without reference counts.
struct BuiltEntries {
  private struct Place {
    let offset: Int
    let keyCount: UInt32
    let idCount: UInt32
    let isCut: Bool
    let lacksValue: Bool

    var range: Range<Int> { offset..<offset + Int(keyCount) + Int(idCount) }
  }

  /// A place with the start of its entry, for sorting.
  private struct Sorted {
    /// The eight bytes after the common prefix of all entries, big-endian: they tell most entries
    /// apart.
    let start: UInt64
    let place: UInt32
  }

  /// The bytes of all entries, followed by zeros that the next ones replace.
  private var bytes: [UInt8] = []
  /// The number of bytes that are in use.
  private var used = 0
  private var places: [Place] = []
  /// The head of each entry's document, if `keepsHeads`.
  private var heads: [DocumentRecord.Head] = []
  private let keepsHeads: Bool
  /// The length of the common prefix of all entries.
  private var shared = Int.max

  /// - Parameters:
  ///   - count: the expected number of entries.
  ///   - keepsHeads: whether to keep the head of each entry's document.
  init(count: Int, keepsHeads: Bool) {
    self.keepsHeads = keepsHeads
    places.reserveCapacity(count)
    if keepsHeads { heads.reserveCapacity(count) }
  }

  /// The number of bytes of memory that the entries take, with what sorting them takes.
  var byteCount: Int {
    used &+ places.count &* (MemoryLayout<Place>.stride &+ 2 &* MemoryLayout<Sorted>.stride)
  }

  /// Adds an entry of a document.
  mutating func add(_ key: IndexKeyInPlace, _ id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head) {
    let offset = used
    used &+= key.bytes.count &+ id.count
    if used > bytes.count { bytes.append(contentsOf: repeatElement(0, count: max(4096, used))) }
    bytes.withUnsafeMutableBytes { bytes in
      let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<used])
      rest.copyMemory(from: key.bytes)
      UnsafeMutableRawBufferPointer(rebasing: rest[key.bytes.count...]).copyMemory(from: id)
    }
    let place = Place(
      offset: offset, keyCount: UInt32(truncatingIfNeeded: key.bytes.count),
      idCount: UInt32(truncatingIfNeeded: id.count), isCut: key.isCut, lacksValue: key.lacksValue)
    places.append(place)
    if keepsHeads { heads.append(head) }
    shared = min(shared, lengthShared(with: place))
  }

  /// Returns the length of the prefix that an entry shares with the first one.
  private func lengthShared(with place: Place) -> Int {
    let first = places[0].range
    return bytes.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      // SAFETY: the ranges of all places lie within the bytes.
      return KeyOrder.commonPrefix(
        start + first.lowerBound, min(first.count, shared), start + place.offset, place.range.count)
    }
  }

  /// Calls a closure with each entry, in the order of their bytes.
  func forEachSorted(_ body: (BuiltEntry) throws -> Void) throws {
    try bytes.withUnsafeBytes { bytes in
      for sorted in self.sorted(bytes) {
        let place = places[Int(sorted.place)]
        try body(
          BuiltEntry(
            bytes: UnsafeRawBufferPointer(rebasing: bytes[place.range]), keyCount: Int(place.keyCount),
            isCut: place.isCut, lacksValue: place.lacksValue,
            head: keepsHeads ? heads[Int(sorted.place)] : nil))
      }
    }
  }

  private func sorted(_ bytes: UnsafeRawBufferPointer) -> [Sorted] {
    var sorted: [Sorted] = []
    sorted.reserveCapacity(places.count)
    for (number, place) in places.enumerated() {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[place.range].dropFirst(shared))
      sorted.append(Sorted(start: rest.sortingStart, place: UInt32(truncatingIfNeeded: number)))
    }
    if sorted.count < BuiltEntries.leastDistributed {
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

  /// The least number of entries for which distributing them by each byte takes less than comparing
  /// them.
  static let leastDistributed = 256

  /// Sorts by `start` alone, from the last byte to the first (a radix sort). Bytes that all have in
  /// common are passed over.
  private func distribute(_ sorted: inout [Sorted]) {
    var counts = [Int](repeating: 0, count: 8 * 256)
    var numbers = counts.mutableSpan
    for index in sorted.indices {
      let start = sorted[index].start
      for place in 0..<8 { numbers[BuiltEntries.bucket(start, place)] &+= 1 }
    }
    var other = sorted
    for place in 0..<8 {
      if let entry = sorted.first, counts[BuiltEntries.bucket(entry.start, place)] == sorted.count {
        continue
      }
      BuiltEntries.distribute(sorted, by: place, &counts, to: &other)
      swap(&sorted, &other)
    }
  }

  /// Puts entries in the order of one byte, with equal ones in the order that they have.
  ///
  /// - Parameters:
  ///   - place: the place of the byte; 0 for the last one.
  ///   - counts: the number of entries in each bucket. Those of the byte are used up.
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
    let (left, right) = (places[Int(left.place)].range, places[Int(right.place)].range)
    guard let start = bytes.baseAddress else { return false }
    // SAFETY: the ranges of all places lie within the bytes.
    return KeyOrder.compare(start + left.lowerBound, left.count, start + right.lowerBound, right.count) < 0
  }
}

/// An entry that a build adds to an index. It must not leave the call that provided it.
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
