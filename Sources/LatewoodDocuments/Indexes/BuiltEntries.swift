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

  private var bytes: [UInt8] = []
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

  /// Adds an entry of a document.
  mutating func add(_ key: IndexKeyInPlace, _ id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head) {
    let offset = bytes.count
    bytes.append(bytes: key.bytes)
    bytes.append(bytes: id)
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
    sorted.sort { left, right in
      left.start == right.start ? precedes(left, right, in: bytes) : left.start < right.start
    }
    return sorted
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
