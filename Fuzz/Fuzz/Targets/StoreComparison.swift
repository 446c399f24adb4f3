import LatewoodModels
import LatewoodStore

/// Compares a store with its expected content through every kind of read.
enum StoreComparison {
  static func check(_ store: Store, _ content: Content) {
    do {
      if try store.keyspaces().map(\.name) != content.keys.sorted() { find("other keyspaces") }
      for (name, entries) in content {
        guard let space = try store.existingKeyspace(name) else { find("a keyspace is missing") }
        try check(store, space, entries)
      }
    } catch {
      find("a sound store cannot be read: \(error)")
    }
  }

  private static func check(_ store: Store, _ space: Keyspace, _ entries: [[UInt8]: [UInt8]]) throws {
    let keys = entries.keys.sorted { $0.lexicographicallyPrecedes($1) }
    if try store.count(in: space) != keys.count { find("another count") }
    var backward: [[UInt8]] = []
    try store.forEach(in: space, reversed: true) { key, value in
      let key = key.withUnsafeBytes { [UInt8]($0) }
      if entries[key] != value.withUnsafeBytes({ [UInt8]($0) }) { find("another value, backwards") }
      backward.append(key)
      return true
    }
    if backward.reversed() != keys { find("other keys, backwards") }
    for (index, key) in keys.enumerated() {
      if try store.get(key, in: space) != entries[key] { find("another value") }
      if try store.rank(of: key, in: space) != index { find("another rank") }
      if try store.key(at: index, in: space) != key { find("another key at an index") }
      if entries[key + [0]] == nil, try store.contains(key + [0], in: space) {
        find("a key that was never put")
      }
    }
    let middle = keys.count / 2
    if !keys.isEmpty, try store.entries(in: space, .from(keys[middle])).map(\.key) != Array(keys[middle...]) {
      find("other keys in a range")
    }
  }
}
