import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// One random run: a store on a simulated disk, the model beside it, snapshots held from earlier.
final class ModelRun {
  private struct Held {
    var snapshot: Snapshot
    var model: OrderedModel
  }

  private var random: SeededRandom
  private let keys: KeyMaker
  private let disk: SimulatedVolume
  private let options: Store.Options
  private var process = 1
  private var store: Store
  private(set) var model = OrderedModel()
  private var held: [Held] = []
  private(set) var operations = 0
  private(set) var reopenings = 0

  init(seed: UInt64, style: Int) throws {
    random = SeededRandom(seed: seed)
    keys = KeyMaker(style: style)
    disk = SimulatedVolume(seed: seed)
    var options = Store.Options()
    options.checkpointsInBackground = false
    options.durability = .relaxed
    options.nodeSize = style % 2 == 0 ? 1024 : 8192
    options.inlineValueLimit = style % 3 == 0 ? 64 : 512
    self.options = options
    store = try Store.open(
      at: "db", on: disk.process(1), mode: .openOrCreate, options: options, environment: .system)
  }

  func run(operations wanted: Int) throws {
    while operations < wanted {
      switch random.below(100) {
      case 0..<70: try transaction()
      case 70..<80: try reads(of: store, model, count: 20)
      case 80..<85: try takeOrCompareSnapshot()
      case 85..<90: try store.checkpoint()
      case 90..<92: try reopen()
      case 92..<94: try compareChanges()
      case 94: try compareAll(store, model)
      default: try ranges(of: store, model)
      }
    }
    try compareAll(store, model)
    for old in held { try compareAll(old.snapshot, old.model) }
    try store.checkpoint()
    try compareAll(store, model)
    #expect(try store.verify().faults == [])
    held = []
    try store.close()
  }

  private struct OnPurpose: Error {}

  private func transaction() throws {
    var next = model
    let fails = random.oneIn(8)
    do {
      try store.write { transaction in
        for _ in 0...random.below(random.oneIn(4) ? 3000 : 100) { try step(transaction, &next) }
        if random.oneIn(4) { try reads(of: transaction, next, count: 5) }
        if random.oneIn(12) { try cursorWhileWriting(transaction, &next) }
        if random.oneIn(30) { try compareAll(transaction, next) }
        if fails { throw OnPurpose() }
      }
      model = next
    } catch is OnPurpose {}
  }

  private func step(_ transaction: Transaction, _ model: inout OrderedModel) throws {
    operations += 1
    let name = keys.space(&random)
    if random.oneIn(600), model.spaces[name] != nil {
      try transaction.dropKeyspace(transaction.keyspace(name))
      model.spaces[name] = nil
      return
    }
    let space = try transaction.keyspace(name)
    if model.spaces[name] == nil { model.spaces[name] = OrderedModel.Space() }
    let key = keys.key(&random)
    switch random.below(300) {
    case 0:
      let (range, low, high) = keys.range(&random, model.spaces[name, default: .init()])
      try transaction.deleteRange(range, in: space)
      model.spaces[name]?.deleteRange(low, high)
    case 1..<80:
      try transaction.delete(key, in: space)
      model.spaces[name]?.delete(key)
    default:
      let value = keys.value(&random)
      try transaction.put(key, value, in: space)
      model.spaces[name]?.put(key, value)
    }
  }

  /// Deletes what a cursor stands on, and puts before and behind it, while it goes on.
  private func cursorWhileWriting(_ transaction: Transaction, _ model: inout OrderedModel) throws {
    let name = keys.space(&random)
    guard var expected = model.spaces[name] else { return }
    let space = try transaction.keyspace(name)
    let cursor = try transaction.cursor(in: space)
    var last: [UInt8]?
    var steps = 0
    while try cursor.next(), steps < 50 {
      let key = try cursor.key()
      let index = last.map { expected.rank($0 + [0]) } ?? 0
      #expect(key == (index < expected.keys.count ? expected.keys[index] : nil), "\(random.replay)")
      last = key
      steps += 1
      if random.oneIn(2) {
        try transaction.delete(key, in: space)
        expected.delete(key)
      }
      let other = keys.key(&random)
      try transaction.put(other, [1], in: space)
      expected.put(other, [1])
    }
    model.spaces[name] = expected
  }

  /// Opens the file again: after a close, or as after the end of a process that said nothing.
  private func reopen() throws {
    for old in held { try compareAll(old.snapshot, old.model) }
    held = []
    reopenings += 1
    if random.oneIn(2) { try store.close() } else { disk.kill(process: process) }
    process += 1
    store = try Store.open(
      at: "db", on: disk.process(process), mode: .openExisting, options: options, environment: .system)
    try compareAll(store, model)
    #expect(try store.verify().faults == [], "\(random.replay)")
  }

  private func takeOrCompareSnapshot() throws {
    if held.count < 4 {
      held.append(Held(snapshot: try store.snapshot(), model: model))
    } else {
      let old = held.remove(at: random.below(held.count))
      try compareAll(old.snapshot, old.model)
      old.snapshot.close()
    }
  }

  private func compareChanges() throws {
    guard let old = held.last else { return }
    let now = try store.snapshot()
    for (name, space) in model.spaces {
      // A keyspace that was dropped and made anew has another number: its entries are not compared with the old one's.
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
      #expect(found == expected.sorted { $0.lexicographicallyPrecedes($1) }, "\(random.replay)")
    }
  }

  private func reads(of source: some Readable, _ model: OrderedModel, count: Int) throws {
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

  private func ranges(of source: some Readable, _ model: OrderedModel) throws {
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
      #expect(try source.count(in: handle, range) == expected.count, "\(random.replay)")
      #expect(try source.first(in: handle, range)?.key == expected.first, "\(random.replay)")
      #expect(try source.last(in: handle, range)?.key == expected.last, "\(random.replay)")
      if !expected.isEmpty {
        let index = random.below(expected.count)
        #expect(try source.key(at: index, in: handle, range) == expected[index], "\(random.replay)")
      }
    }
  }

  /// Everything, both ways.
  private func compareAll(_ source: some Readable, _ model: OrderedModel) throws {
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
