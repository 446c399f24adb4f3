import LatewoodSimulation
import Testing

@testable import LatewoodStore

/// Scans of small leaves with a change at, before or after every key, so that changes and bounds of
/// ranges fall on the first and last entry of each leaf. The suffixes of keys have all lengths
/// around those that are copied differently.
@Suite struct LeafEdgeTests {
  private struct Undone: Error {}

  private let volume = SimulatedVolume()
  private let store: Store
  private let space: Keyspace
  private let keys: [[UInt8]]
  private let values: [[UInt8]]

  init() throws {
    var options = Store.Options()
    options.nodeSize = 512
    options.checkpointsInBackground = false
    options.inlineValueLimit = 100
    store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: options, environment: .system)
    space = try store.keyspace("a")
    var keys: [[UInt8]] = []
    for group in 0..<4 {
      let common = [UInt8](repeating: UInt8(10 * group + 1), count: 1 + 20 * group)
      keys.append(common)
      for length in 1...20 {
        keys.append(common + [UInt8](repeating: 2, count: length))
        keys.append(common + [UInt8(20 + length)] + [UInt8](repeating: 3, count: 20 - length))
      }
    }
    keys.sort { $0.lexicographicallyPrecedes($1) }
    let values = keys.indices.map {
      [UInt8](repeating: UInt8($0 & 0xFF), count: [0, 1, 7, 8, 40, 200][$0 % 6])
    }
    self.keys = keys
    self.values = values
    let space = space
    try store.write { transaction in
      for (key, value) in zip(keys, values) { try transaction.put(key, value, in: space) }
    }
    try store.checkpoint()
  }

  private static func scan(
    _ reader: some Readable, _ range: KeyRange, in space: Keyspace, reversed: Bool
  ) throws -> [[UInt8]] {
    var found: [[UInt8]] = []
    try reader.forEach(in: space, range, reversed: reversed) { key, value in
      found.append(key.withUnsafeBytes { Array($0) } + [255] + value.withUnsafeBytes { Array($0) })
      return true
    }
    return found
  }

  /// Compares scans of a transaction with scans of a model, then drops the transaction.
  private func check(
    _ what: String, around index: Int, over pending: [[UInt8]: [UInt8]] = [:],
    _ change: (Transaction) throws -> Void,
    _ model: (inout [[UInt8]: [UInt8]]) -> Void
  ) throws {
    var wanted = Dictionary(uniqueKeysWithValues: zip(keys, values))
    wanted.merge(pending) { $1 }
    model(&wanted)
    let sorted = wanted.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let near = [max(0, index - 1), index, min(keys.count - 1, index + 1)].map { keys[$0] }
    let bounds = [keys[0]] + near + [keys[index] + [0], keys[keys.count - 1] + [1]]
    do {
      try store.write { transaction in
        try change(transaction)
        for low in bounds {
          for high in bounds where !high.lexicographicallyPrecedes(low) {
            let inside = sorted.filter {
              !$0.key.lexicographicallyPrecedes(low) && $0.key.lexicographicallyPrecedes(high)
            }.map { $0.key + [255] + $0.value }
            for isReversed in [false, true] {
              let found = try Self.scan(transaction, .between(low, high), in: space, reversed: isReversed)
              #expect(
                found == (isReversed ? inside.reversed() : inside),
                "\(what) at \(index), \(low) ..< \(high), reversed: \(isReversed)")
            }
          }
        }
        throw Undone()
      }
    } catch is Undone {
    }
  }

  @Test func `a change beside any key appears correctly in every range around it`() throws {
    for index in stride(from: 0, to: keys.count, by: Effort.count(1, low: 3)) {
      let key = keys[index]
      try check("nothing", around: index, { _ in }, { _ in })
      try check("a put", around: index, { try $0.put(key, [9], in: space) }, { $0[key] = [9] })
      try check("a delete", around: index, { try $0.delete(key, in: space) }, { $0[key] = nil })
      let next = key + [0]
      try check("a put behind", around: index, { try $0.put(next, [9], in: space) }, { $0[next] = [9] })
      try check("a delete behind", around: index, { try $0.delete(next, in: space) }, { _ in })
    }
  }

  @Test func `a range deleted at any key is missing from every range around it`() throws {
    for index in stride(from: 1, to: keys.count, by: Effort.count(1, low: 5)) {
      for length in [1, 2, 9, 30] {
        let high = index + length < keys.count ? keys[index + length] : keys[keys.count - 1] + [0]
        let gone = keys[index..<min(index + length, keys.count)]
        try check(
          "a deleted range of \(length)", around: index,
          { try $0.deleteRange(.between(keys[index], high), in: space) },
          { model in for key in gone { model[key] = nil } })
        try check(
          "a deleted range of \(length) and a put", around: index,
          {
            try $0.deleteRange(.between(keys[index], high), in: space)
            try $0.put(keys[index], [9], in: space)
          },
          { model in
            for key in gone { model[key] = nil }
            model[keys[index]] = [9]
          })
      }
    }
  }

  /// Leaves puts in the frozen buffer, by a checkpoint that fails, and returns them.
  private func freeze() throws -> [[UInt8]: [UInt8]] {
    var pending: [[UInt8]: [UInt8]] = [:]
    try store.write { transaction in
      for index in stride(from: 0, to: keys.count, by: 3) {
        pending[keys[index]] = [8]
        pending[keys[index] + [0]] = [7]
      }
      for (key, value) in pending { try transaction.put(key, value, in: space) }
    }
    try store.sync()
    volume.spaceLimit = try volume.liveBytes(of: "db").count
    #expect(throws: StoreError.self) { try store.checkpoint() }
    volume.spaceLimit = nil
    try #require(try store.statistics().isCheckpointing)
    return pending
  }

  /// A failed checkpoint leaves a frozen buffer below the buffer that receives the range delete.
  @Test func `a deleted range hides frozen entries, and later puts appear`() throws {
    let pending = try freeze()
    for index in stride(from: 0, to: keys.count - 1, by: Effort.count(1, low: 5)) {
      for length in [1, 4, 30] {
        let (low, high) = (keys[index], keys[min(index + length, keys.count - 1)])
        try check(
          "a deleted range of \(length) and a put", around: index, over: pending,
          {
            try $0.deleteRange(.between(low, high), in: space)
            try $0.put(low + [0], [9], in: space)
          },
          { model in
            for key in model.keys
            where !key.lexicographicallyPrecedes(low) && key.lexicographicallyPrecedes(high) {
              model[key] = nil
            }
            model[low + [0]] = [9]
          })
      }
    }
  }

  @Test func `a get does not find frozen entries in a deleted range`() throws {
    let pending = try freeze().sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let (low, high) = (pending[10].key, pending[30].key)
    func check(_ reader: some Readable) throws {
      for (index, (key, value)) in pending.enumerated() {
        let wanted = index == 20 ? [9] : (10..<30).contains(index) ? nil : value
        #expect(try reader.get(key, in: space) == wanted, "\(index)")
      }
    }
    try store.write { transaction in
      try transaction.deleteRange(.between(low, high), in: space)
      try transaction.put(pending[20].key, [9], in: space)
      try check(transaction)
    }
    try check(store)
    try store.close()
  }
}
