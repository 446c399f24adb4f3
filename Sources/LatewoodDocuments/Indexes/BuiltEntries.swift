import LatewoodBytes
import LatewoodQuery

/// The entries that a step of a build adds to an index.
///
/// Their bytes follow each other in one array. The places that are sorted are small and count no
/// references.
struct BuiltEntries {
  /// The place of an entry in the bytes.
  private struct Place {
    /// The first eight bytes, big-endian, by which most entries can be told apart.
    let start: UInt64
    let offset: Int
    let keyCount: UInt32
    let idCount: UInt32
    /// The number of the document.
    let document: Int
    let isCut: Bool
    let lacksValue: Bool

    var range: Range<Int> { offset..<offset + Int(keyCount) + Int(idCount) }
  }

  private var bytes: [UInt8] = []
  private var places: [Place] = []
  private var heads: [DocumentRecord.Head] = []

  /// - Parameter count: the expected number of entries.
  init(count: Int) {
    places.reserveCapacity(count)
    heads.reserveCapacity(count)
  }

  /// Adds an entry of a document.
  mutating func add(_ key: IndexKeyInPlace, _ id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head) {
    let offset = bytes.count
    bytes.append(contentsOf: key.bytes)
    bytes.append(contentsOf: id)
    places.append(
      Place(
        start: bytes[offset...].sortingStart, offset: offset,
        keyCount: UInt32(truncatingIfNeeded: key.bytes.count), idCount: UInt32(truncatingIfNeeded: id.count),
        document: heads.count, isCut: key.isCut, lacksValue: key.lacksValue))
    heads.append(head)
  }

  /// Calls a closure with each entry, in the order of their bytes.
  func forEachSorted(_ body: (BuiltEntry) throws -> Void) throws {
    try bytes.withUnsafeBytes { bytes in
      for place in places.sorted(by: { BuiltEntries.precedes($0, $1, in: bytes) }) {
        try body(
          BuiltEntry(
            bytes: UnsafeRawBufferPointer(rebasing: bytes[place.range]), keyCount: Int(place.keyCount),
            isCut: place.isCut, lacksValue: place.lacksValue, head: heads[place.document]))
      }
    }
  }

  private static func precedes(_ left: Place, _ right: Place, in bytes: UnsafeRawBufferPointer) -> Bool {
    if left.start != right.start { return left.start < right.start }
    guard let start = bytes.baseAddress else { return false }
    // SAFETY: the ranges of all places lie within the bytes.
    return KeyOrder.compare(
      start + left.range.lowerBound, left.range.count, start + right.range.lowerBound, right.range.count) < 0
  }
}

/// An entry that a build adds to an index. It must not leave the call that provided it.
struct BuiltEntry {
  /// The key, then the id.
  let bytes: UnsafeRawBufferPointer
  let keyCount: Int
  let isCut: Bool
  fileprivate let lacksValue: Bool
  /// The facts of the document.
  let head: DocumentRecord.Head

  var id: String { String(decoding: bytes[keyCount...], as: UTF8.self) }

  var indexKey: IndexKey {
    IndexKey(bytes: Array(bytes[..<keyCount]), isCut: isCut, lacksValue: lacksValue)
  }
}
