import LatewoodBytes
import LatewoodInspection

/// The names of the keyspaces in a damaged file, from the remains of its catalog (FORMAT.md,
/// section 9).
///
/// A keyspace has two entries there, either of which is sufficient. This is also the sink for the
/// entries of keyspace 0.
final class SalvagedCatalog: SalvageSink {
  private var entries: [[UInt8]: (value: [UInt8], trust: SalvageTrust)] = [:]
  /// The names by number.
  private(set) var names: [UInt32: String] = [:]
  /// Whether the catalog is known to be complete: a number without a name then belongs to a dropped
  /// keyspace.
  private(set) var isWhole = true

  /// The upper bound of the catalog's own keys.
  static let end: [UInt8] = [0, 0, 0, 1]

  /// Determines the names after all entries have been added.
  func read(_ report: SalvageReport) {
    isWhole = report.isWhole
    var taken: Set<String> = []
    func take(_ number: UInt32, _ name: [UInt8]) {
      guard number > 0, number < .max, names[number] == nil,
        let text = String(validating: name, as: UTF8.self), (1...1024).contains(name.count),
        taken.insert(text).inserted
      else { return }
      names[number] = text
    }
    // Certain entries are first, so that an older name never replaces a newer one.
    for isCertain in [true, false] {
      for (key, entry) in entries where (entry.trust == .certain) == isCertain {
        let rest = key.dropFirst(5)
        switch key.dropFirst(4).first {
        case UInt8(ascii: "i") where rest.count == 4:
          take(rest.bigEndian(), entry.value)
        case UInt8(ascii: "n") where entry.value.count == 4:
          take(entry.value.reversed().bigEndian(), Array(rest))
        default: break
        }
      }
    }
  }

  /// Returns a made-up name for a keyspace whose name is lost.
  func placeholderName(of number: UInt32) -> String {
    var name = "keyspace-\(number)"
    while names.values.contains(name) { name += "'" }
    return name
  }

  func put(_ key: [UInt8], _ value: [UInt8], _ trust: SalvageTrust) throws(StorageError) {
    entries[key] = (value, trust)
  }
  func delete(_ key: [UInt8]) throws(StorageError) { entries[key] = nil }
  func delete(from low: [UInt8], to high: [UInt8]?) throws(StorageError) {
    for key in entries.keys where isIn(key, low, high) { entries[key] = nil }
  }
  func saved(_ key: [UInt8]) throws(StorageError) -> (value: [UInt8], trust: SalvageTrust)? { entries[key] }
  func count(from low: [UInt8], to high: [UInt8]?) throws(StorageError) -> UInt64 {
    UInt64(entries.keys.count { isIn($0, low, high) })
  }
  func progress(_ done: UInt64, of total: UInt64) throws(StorageError) {}

  private func isIn(_ key: [UInt8], _ low: [UInt8], _ high: [UInt8]?) -> Bool {
    !key.lexicographicallyPrecedes(low) && (high.map { key.lexicographicallyPrecedes($0) } ?? true)
  }
}
