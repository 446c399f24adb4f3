/// Collects the smallest of all added keys, up to a given number.
struct BestKeys {
  private let wanted: Int?
  private var entries: [(key: [UInt8], id: String)] = []

  /// - Parameter count: the number of keys to keep; nil for all.
  init(count: Int?) { wanted = count }

  mutating func add(_ key: [UInt8], _ id: String) {
    entries.append((key, id))
    // Cutting only at twice the wanted number makes sorting cost amortized O(log n) per key.
    if let wanted, entries.count / 2 > max(wanted, 64) { cut(to: wanted) }
  }

  mutating func ids() -> [String] {
    cut(to: wanted ?? entries.count)
    return entries.map(\.id)
  }

  private mutating func cut(to count: Int) {
    entries.sort {
      $0.key == $1.key ? BestKeys.isLess($0.id, $1.id) : $0.key.lexicographicallyPrecedes($1.key)
    }
    entries.removeLast(max(0, entries.count - count))
  }

  static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
