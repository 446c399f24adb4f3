import LatewoodSimulation
import LatewoodStore
import Testing

extension ModelRun {
  func compareChanges() throws {
    guard let old = held.last else { return }
    let now = try store.snapshot()
    for (name, space) in model.spaces {
      // A keyspace that was dropped and created again has another number, so its entries are not
      // compared with the old ones.
      guard let before = old.model.spaces[name], let handle = try now.existingKeyspace(name),
        try old.snapshot.existingKeyspace(name) == handle
      else { continue }
      var found: [[UInt8]] = []
      try now.changes(since: old.snapshot, in: handle) { change in
        #expect(change.old == before.values[change.key], "\(random.replay)")
        #expect(change.new == space.values[change.key], "\(random.replay)")
        found.append(change.key)
        return true
      }
      let all = Set(before.keys).union(space.keys)
      let expected = all.filter { before.values[$0] != space.values[$0] }
      #expect(found == expected.sorted { $0.isBefore($1) }, "\(random.replay)")
      var back: [[UInt8]] = []
      try old.snapshot.changes(since: now, in: handle) { change in
        back.append(change.key)
        return back.count < 20
      }
      #expect(back == Array(found.prefix(20)), "\(random.replay)")
    }
  }

  func reads(of source: some Readable, _ model: OrderedModel, count: Int) throws {
    for (name, space) in model.spaces {
      guard let handle = try source.existingKeyspace(name) else {
        Issue.record("\(name) is missing: \(random.replay)")
        continue
      }
      for _ in 0..<count {
        let key = keys.key(&random)
        #expect(try source.get(key, in: handle) == space.values[key], "\(random.replay)")
        #expect(try source.contains(key, in: handle) == (space.values[key] != nil), "\(random.replay)")
      }
      let probe = keys.key(&random)
      #expect(try source.rank(of: probe, in: handle) == space.rank(probe), "\(random.replay)")
      #expect(try source.count(in: handle) == space.keys.count, "\(random.replay)")
      let index = random.below(space.keys.count + 2)
      let expected = index < space.keys.count ? space.keys[index] : nil
      #expect(try source.key(at: index, in: handle) == expected, "\(random.replay)")
    }
  }

  func ranges(of source: some Readable, _ model: OrderedModel) throws {
    for (name, space) in model.spaces {
      guard let handle = try source.existingKeyspace(name) else {
        Issue.record("\(name) is missing: \(random.replay)")
        continue
      }
      let (range, low, high) = keys.range(&random, space)
      let expected = low < high ? Array(space.keys[low..<high]) : []
      #expect(try source.entries(in: handle, range).map(\.key) == expected, "\(random.replay)")
      #expect(
        try source.entries(in: handle, range, reversed: true).map(\.key) == expected.reversed(),
        "\(random.replay)")
      var isRight = true
      try source.forEach(in: handle, range, reversed: true) { key, value in
        let key = key.withUnsafeBytes { Array($0) }
        isRight = value.withUnsafeBytes { $0.elementsEqual(space.values[key] ?? []) }
        return isRight
      }
      #expect(isRight, "\(random.replay)")
      #expect(try source.count(in: handle, range) == expected.count, "\(random.replay)")
      #expect(try source.first(in: handle, range)?.key == expected.first, "\(random.replay)")
      #expect(try source.last(in: handle, range)?.key == expected.last, "\(random.replay)")
      if !expected.isEmpty {
        let index = random.below(expected.count)
        #expect(try source.key(at: index, in: handle, range) == expected[index], "\(random.replay)")
      }
    }
  }

  /// Compares everything, forwards and backwards.
  /// Compares a scan by batches, to its end and to somewhere in between.
  func batches(_ model: OrderedModel) throws {
    let state = try store.held()
    for (name, space) in model.spaces {
      guard let handle = try state.existingKeyspace(name) else {
        Issue.record("\(name) is missing: \(random.replay)")
        continue
      }
      for range in [.all, keys.range(&random, space).0] {
        let expected = try state.entries(in: handle, range).map(\.key)
        let limit = random.oneIn(2) ? Int.max : 1 + random.below(150)
        var found: [[UInt8]] = []
        var isEnded = false
        try state.scanBatches(handle, range) { batch in
          #expect(!batch.isEmpty && batch.count <= 64 && !isEnded, "\(random.replay)")
          for entry in batch {
            let key = Array(entry.key)
            #expect(Array(entry.value) == space.values[key], "\(random.replay)")
            found.append(key)
          }
          isEnded = found.count >= limit
          return !isEnded
        }
        #expect(isEnded || found.count == expected.count, "\(random.replay)")
        #expect(found.elementsEqual(expected.prefix(found.count)), "\(random.replay)")
      }
    }
  }

  func compareAll(_ source: some Readable, _ model: OrderedModel) throws {
    #expect(try source.keyspaces().map(\.name) == model.spaces.keys.sorted(), "\(random.replay)")
    for (name, space) in model.spaces {
      guard let handle = try source.existingKeyspace(name) else {
        Issue.record("\(name) is missing: \(random.replay)")
        continue
      }
      var index = 0
      try source.forEach(in: handle) { key, value in
        let isRight =
          index < space.keys.count && key.withUnsafeBytes { $0.elementsEqual(space.keys[index]) }
          && value.withUnsafeBytes { $0.elementsEqual(space.values[space.keys[index]] ?? []) }
        if !isRight { Issue.record("entry \(index) of \(name) differs: \(random.replay)") }
        index += 1
        return isRight
      }
      #expect(index == space.keys.count, "\(name): \(random.replay)")
    }
  }
}
