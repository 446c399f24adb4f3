/// The largest of many items, largest first; equal items are in the order of their arrival. Keeps
/// only the requested number.
struct LargestItems<Item> {
  private(set) var items: [(item: Item, size: UInt64)] = []
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// - Parameter item: evaluated only if it is among the largest so far.
  mutating func add(_ size: UInt64, _ item: @autoclosure () -> Item) {
    guard limit > 0 else { return }
    if items.count == limit {
      guard let least = items.last, least.size < size else { return }
      items.removeLast()
    }
    // The first smaller item: sizes descend.
    var (low, high) = (0, items.count)
    while low < high {
      let middle = (low + high) / 2
      if items[middle].size >= size { low = middle + 1 } else { high = middle }
    }
    items.insert((item(), size), at: low)
  }
}
