/// The least keys of all that were added, as many as are wanted.
struct BestKeys {
  private let wanted: Int?
  private var entries: [(key: [UInt8], id: String)] = []

  /// - Parameter count: nil for all.
  init(count: Int?) { wanted = count }

  mutating func add(_ key: [UInt8], _ id: String) {
    entries.append((key, id))
    // Twice as many are gathered as are wanted before half of them goes: sorting costs each its
    // share.
    if let wanted, entries.count / 2 > max(wanted, 64) { cut(to: wanted) }
  }

  mutating func ids() -> [String] {
    cut(to: wanted ?? entries.count)
    return entries.map(\.id)
  }

  private mutating func cut(to count: Int) {
    // What is equal keeps the order in which it came, which is by id.
    entries.sort {
      $0.key == $1.key ? BestKeys.isLess($0.id, $1.id) : $0.key.lexicographicallyPrecedes($1.key)
    }
    entries.removeLast(max(0, entries.count - count))
  }

  static func isLess(_ left: String, _ right: String) -> Bool {
    left.utf8.lexicographicallyPrecedes(right.utf8)
  }
}
