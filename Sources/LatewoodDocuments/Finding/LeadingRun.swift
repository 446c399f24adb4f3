import LatewoodBytes
import LatewoodQuery

/// Adjacent entries of an index that agree in the leading parts of their keys.
struct LeadingRun {
  /// Whether each of the leading parts is descending.
  private let parts: [Bool]
  /// The number of entries that are needed, the first ones by id; nil for all.
  private let needed: Int?
  /// The leading parts of all entries.
  private var key: [UInt8] = []
  private var entries: [IndexEntry] = []
  /// Whether the leading parts cannot be separated from the rest of the keys, because they contain
  /// an array, an object or data, or are cut. The entries must then be ordered by the values of
  /// their documents.
  private(set) var isByValues = false

  init(_ parts: [Bool], needed: Int?) {
    self.parts = parts
    self.needed = needed
  }

  /// Adds an entry. Returns false if it begins another run.
  mutating func append(_ entry: StoredEntry) -> Bool {
    let leading = leading(entry.key)
    if entries.isEmpty {
      isByValues = leading == nil
      key.removeAll(keepingCapacity: true)
      if let leading { key.append(bytes: leading) }
    } else if isByValues {
      guard leading == nil else { return false }
    } else {
      guard let leading, key.withUnsafeBytes({ $0.elementsEqual(leading) }) else { return false }
    }
    entries.append(IndexEntry(entry))
    if let needed, !isByValues, entries.count >= 2 * needed + 64 { keep(needed) }
    return true
  }

  /// Leaves the first entries by id.
  private mutating func keep(_ count: Int) {
    entries.sort(by: IndexEntry.precedes)
    entries.removeLast(entries.count - count)
  }

  /// Removes all entries and returns them, in no particular order. `isByValues` stays.
  mutating func removeAll() -> [IndexEntry] {
    defer { entries.removeAll(keepingCapacity: true) }
    return entries
  }

  private func leading(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    var reader = CollationReader(key)
    for isDescending in parts { guard reader.skip(descending: isDescending) else { return nil } }
    return UnsafeRawBufferPointer(rebasing: key[..<reader.offset])
  }
}
