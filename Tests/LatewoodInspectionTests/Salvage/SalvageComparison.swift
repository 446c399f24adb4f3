import LatewoodBytes
import LatewoodInspection
import LatewoodSimulation

/// Receives the salvaged entries of a damaged file and keeps only their differences from the sound
/// file, so that thousands of files can be compared.
final class SalvageComparison: SalvageSink {
  /// A salvaged entry that the sound file contains.
  struct Found {
    var trust: SalvageTrust
    /// The value if it differs from the value in the sound file; nil if both are equal.
    var otherValue: [UInt8]?
  }

  let keys: [[UInt8]]
  private let values: [[UInt8]]
  private let places: [[UInt8]: Int]
  /// The salvaged entries by the index of the key in `keys`; nil if one was not saved.
  private(set) var found: [Found?]
  /// Salvaged entries that the sound file does not contain.
  private(set) var added: [[UInt8]: SavedEntries.Saved] = [:]
  private var last = -1

  init(with entries: [[UInt8]: SavedEntries.Saved]) {
    let sorted = entries.sorted { $0.key.isBefore($1.key) }
    keys = sorted.map(\.key)
    values = sorted.map(\.value.value)
    places = Dictionary(uniqueKeysWithValues: keys.enumerated().map { ($1, $0) })
    found = [Found?](repeating: nil, count: keys.count)
  }

  func reset() {
    for place in found.indices { found[place] = nil }
    added = [:]
  }

  func put(_ key: [UInt8], _ value: [UInt8], _ trust: SalvageTrust) throws(StorageError) {
    guard let place = place(of: key) else {
      added[key] = SavedEntries.Saved(value: value, trust: trust)
      return
    }
    found[place] = Found(trust: trust, otherValue: value == values[place] ? nil : value)
  }

  func delete(_ key: [UInt8]) throws(StorageError) {
    if let place = place(of: key) { found[place] = nil } else { added[key] = nil }
  }

  func delete(from low: [UInt8], to high: [UInt8]?) throws(StorageError) {
    for place in range(low, high) { found[place] = nil }
    for key in added.keys where SavedEntries.isIn(key, low, high) { added[key] = nil }
  }

  func saved(_ key: [UInt8]) throws(StorageError) -> (value: [UInt8], trust: SalvageTrust)? {
    guard let place = place(of: key) else { return added[key].map { ($0.value, $0.trust) } }
    return found[place].map { ($0.otherValue ?? values[place], $0.trust) }
  }

  func count(from low: [UInt8], to high: [UInt8]?) throws(StorageError) -> UInt64 {
    UInt64(
      range(low, high).count { found[$0] != nil } + added.keys.count { SavedEntries.isIn($0, low, high) })
  }

  func progress(_ done: UInt64, of total: UInt64) throws(StorageError) {}

  private func place(of key: [UInt8]) -> Int? {
    // Most keys arrive in order.
    if last + 1 < keys.count, keys[last + 1] == key { last += 1 } else { last = places[key] ?? last }
    return last >= 0 && keys[last] == key ? last : nil
  }

  private func range(_ low: [UInt8], _ high: [UInt8]?) -> Range<Int> {
    let start = first(from: low)
    return start..<max(start, high.map(first(from:)) ?? keys.count)
  }

  private func first(from key: [UInt8]) -> Int {
    var (start, end) = (0, keys.count)
    while start < end {
      let middle = (start + end) / 2
      if keys[middle].isBefore(key) { start = middle + 1 } else { end = middle }
    }
    return start
  }
}
