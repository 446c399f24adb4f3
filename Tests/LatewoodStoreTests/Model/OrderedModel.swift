import LatewoodSimulation

/// The expected content of a store: for each keyspace a sorted array of keys, and their values.
/// Plain, slow and right.
struct OrderedModel: Equatable {
  struct Space: Equatable {
    var keys: [[UInt8]] = []
    var values: [[UInt8]: [UInt8]] = [:]

    /// The number of keys that are less than `key`.
    func rank(_ key: [UInt8]) -> Int {
      var low = 0
      var high = keys.count
      while low < high {
        let middle = (low + high) / 2
        if keys[middle].isBefore(key) { low = middle + 1 } else { high = middle }
      }
      return low
    }

    mutating func put(_ key: [UInt8], _ value: [UInt8]) {
      if values.updateValue(value, forKey: key) == nil { keys.insert(key, at: rank(key)) }
    }

    mutating func delete(_ key: [UInt8]) {
      if values.removeValue(forKey: key) != nil { keys.remove(at: rank(key)) }
    }

    mutating func deleteRange(_ low: Int, _ high: Int) {
      guard low < high else { return }
      for key in keys[low..<high] { values[key] = nil }
      keys.removeSubrange(low..<high)
    }
  }

  var spaces: [String: Space] = [:]
}
