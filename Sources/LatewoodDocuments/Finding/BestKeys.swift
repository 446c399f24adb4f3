/// Collects the least of all added keys, as many as are wanted.
struct BestKeys {
  private let wanted: Int?
  private var entries: [(key: [UInt8], id: String)] = []

  /// - Parameter count: the number of keys to keep; nil for all.
  init(count: Int?) { wanted = count }

  mutating func add(_ key: [UInt8], _ id: String) {
    entries.append((key, id))
    // Twice as many as are wanted are gathered before half of them goes, so that sorting costs
    // amortized O(log n) a key.
    if let wanted, entries.count / 2 > max(wanted, 64) { cut(to: wanted) }
  }

  mutating func ids() -> [String] {
    cut(to: wanted ?? entries.count)
    return entries.map(\.id)
  }

  private mutating func cut(to count: Int) {
    // Equal keys are ordered by id.
    entries.sort {
      $0.key == $1.key ? BestKeys.isLess($0.id, $1.id) : $0.key.lexicographicallyPrecedes($1.key)
    }
    entries.removeLast(max(0, entries.count - count))
  }

  static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
