import LatewoodBytes
import LatewoodQuery

/// The entries of one revision in all indexes of a collection, in one array.
struct RevisionKeys {
  /// The place of an entry: its key, then the id of the document.
  struct Place {
    fileprivate let offset: Int
    fileprivate let keyCount: Int
    fileprivate let count: Int
    let isCut: Bool
    let lacksValue: Bool
  }

  private var bytes: [UInt8] = []
  private var places: [Place] = []
  /// For each index, the number of entries up to and including its last.
  private var ends: [Int] = []

  /// The usual number of bytes for each index.
  private static let usualLength = 48

  /// Creates an empty collection of entries.
  init() {}

  /// - Parameter indexCount: the number of indexes. `endIndex` must be called for each.
  init(indexCount: Int) {
    ends.reserveCapacity(indexCount)
    places.reserveCapacity(indexCount)
    bytes.reserveCapacity(indexCount * RevisionKeys.usualLength)
  }

  /// Adds an entry of the current index.
  mutating func add(
    _ key: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer, isCut: Bool, lacksValue: Bool
  ) {
    places.append(
      Place(
        offset: bytes.count, keyCount: key.count, count: key.count + id.count, isCut: isCut,
        lacksValue: lacksValue))
    bytes.append(bytes: key)
    bytes.append(bytes: id)
  }

  /// Moves on to the next index.
  mutating func endIndex() { ends.append(places.count) }

  /// The entries of an index.
  func entries(ofIndex index: Int) -> ArraySlice<Place> {
    guard index < ends.count else { return [] }
    return places[(index == 0 ? 0 : ends[index - 1])..<ends[index]]
  }

  /// Returns whether an index has the same entry as another revision of the document.
  func contains(_ place: Place, of other: RevisionKeys, inIndex index: Int) -> Bool {
    for own in entries(ofIndex: index) where own.isCut == place.isCut && own.keyCount == place.keyCount {
      let isEqual = withEntry(own) { left, _ in
        other.withEntry(place) { right, _ in left.elementsEqual(right) }
      }
      if isEqual { return true }
    }
    return false
  }

  /// Calls `body` with an entry and the length of its key.
  func withEntry<R>(_ place: Place, _ body: (UnsafeRawBufferPointer, Int) throws -> R) rethrows -> R {
    try bytes.withUnsafeBytes { bytes in
      let entry = bytes[place.offset..<place.offset + place.count]
      return try body(UnsafeRawBufferPointer(rebasing: entry), place.keyCount)
    }
  }

  func key(_ place: Place) -> IndexKey {
    IndexKey(
      bytes: Array(bytes[place.offset..<place.offset + place.keyCount]), isCut: place.isCut,
      lacksValue: place.lacksValue)
  }
}
