import LatewoodBytes
import LatewoodInspection

/// Keeps salvaged entries in memory.
final class SavedEntries: SalvageSink {
  struct Saved: Equatable {
    var value: [UInt8]
    var trust: SalvageTrust
  }
  private(set) var entries: [[UInt8]: Saved] = [:]

  func put(_ key: [UInt8], _ value: [UInt8], _ trust: SalvageTrust) throws(StorageError) {
    entries[key] = Saved(value: value, trust: trust)
  }

  func delete(_ key: [UInt8]) throws(StorageError) { entries[key] = nil }

  func delete(from low: [UInt8], to high: [UInt8]?) throws(StorageError) {
    for key in entries.keys where Self.isIn(key, low, high) { entries[key] = nil }
  }

  func saved(_ key: [UInt8]) throws(StorageError) -> (value: [UInt8], trust: SalvageTrust)? {
    entries[key].map { ($0.value, $0.trust) }
  }

  func count(from low: [UInt8], to high: [UInt8]?) throws(StorageError) -> UInt64 {
    UInt64(entries.keys.count { Self.isIn($0, low, high) })
  }

  func progress(_ done: UInt64, of total: UInt64) throws(StorageError) {}

  static func isIn(_ key: [UInt8], _ low: [UInt8], _ high: [UInt8]?) -> Bool {
    !key.lexicographicallyPrecedes(low) && (high.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}

extension Salvage {
  /// Returns everything in a file, and the report on its losses.
  static func all(
    of bytes: [UInt8], identity: SalvageIdentity? = nil, unreadable: [Range<UInt64>] = []
  ) throws -> (entries: [[UInt8]: SavedEntries.Saved], report: SalvageReport) {
    let salvage = try Salvage(DamagedFile(bytes, unreadable: unreadable), identity: identity)
    let sink = SavedEntries()
    let report = try salvage.run(from: [], to: nil, keyspaces: nil, into: sink)
    return (sink.entries, report)
  }
}
