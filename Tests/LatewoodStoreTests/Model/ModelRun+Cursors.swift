import LatewoodStore
import Testing

extension ModelRun {
  /// Moves cursors at random, together with an index into the model's keys.
  func walks(over source: some Readable, _ model: OrderedModel) throws {
    for (name, space) in model.spaces {
      let handle = try #require(try source.existingKeyspace(name))
      let (range, low, high) = keys.range(&random, space)
      let indexes = low < high ? low..<high : low..<low
      let cursor = try source.cursor(in: handle, range)
      var index: Int?
      for _ in 0..<30 {
        let target: Int
        let isThere: Bool
        let key = keys.key(&random)
        switch random.below(index == nil ? 4 : 12) {
        case 0:
          target = indexes.lowerBound
          isThere = try cursor.seekFirst()
        case 1:
          target = indexes.upperBound - 1
          isThere = try cursor.seekLast()
        case 2:
          target = max(space.rank(key), indexes.lowerBound)
          isThere = try cursor.seek(to: key)
        case 3:
          target = min(space.rank(key), indexes.upperBound) - 1
          isThere = try cursor.seek(before: key)
        case 4..<8:
          target = (index ?? 0) + 1
          isThere = try cursor.next()
        default:
          target = (index ?? 0) - 1
          isThere = try cursor.previous()
        }
        index = indexes.contains(target) ? target : nil
        #expect(isThere == (index != nil), "\(random.replay)")
        guard isThere, let index else { continue }
        #expect(try cursor.key() == space.keys[index], "\(random.replay)")
        #expect(try cursor.value() == space.values[space.keys[index]], "\(random.replay)")
      }
    }
  }

  /// Deletes the entry that a cursor stands on, and puts and deletes before and behind it, while it
  /// moves back and forth.
  func cursorWhileWriting(_ transaction: Transaction, _ model: inout OrderedModel) throws {
    let name = keys.space(&random)
    guard var expected = model.spaces[name] else { return }
    let space = try transaction.keyspace(name)
    let cursor = try transaction.cursor(in: space)
    var place: [UInt8]?
    for _ in 0..<60 {
      let isForward = random.below(3) > 0
      let index: Int
      if let place {
        index = isForward ? expected.rank(place + [0]) : expected.rank(place) - 1
      } else {
        index = isForward ? 0 : expected.keys.count - 1
      }
      let key = expected.keys.indices.contains(index) ? expected.keys[index] : nil
      let isThere = try isForward ? cursor.next() : cursor.previous()
      #expect(isThere == (key != nil), "\(random.replay)")
      guard isThere, let key else { break }
      #expect(try cursor.key() == key, "\(random.replay)")
      place = key
      switch random.below(4) {
      case 0:
        try transaction.delete(key, in: space)
        expected.delete(key)
        // Reading a deleted entry does not move the cursor.
        if random.oneIn(2) { refusal(.invalidRange) { _ = try cursor.key() } }
      case 1 where random.oneIn(4):
        let (range, low, high) = keys.range(&random, expected)
        try transaction.deleteRange(range, in: space)
        expected.deleteRange(low, high)
      default:
        let other = keys.key(&random)
        try transaction.put(other, [1], in: space)
        expected.put(other, [1])
      }
      operations += 1
    }
    model.spaces[name] = expected
  }
}
