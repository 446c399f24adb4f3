import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// One random run: a store on a simulated disk, its model, snapshots of earlier states, and a
/// reader in another process.
final class ModelRun {
  struct Held {
    var snapshot: Snapshot
    var model: OrderedModel
  }

  var random: SeededRandom
  let keys: KeyMaker
  let disk: SimulatedVolume
  private let reading: FileReading
  let options: Store.Options
  /// Whether the reader stays open, which keeps blocks from being released.
  let keepsFollower: Bool
  var process = 1
  var store: Store
  var model = OrderedModel()
  var held: [Held] = []
  /// The models of requested checkpoints, by their transactions.
  var past: [UInt64: OrderedModel] = [:]
  /// The reader in another process; nil at times, so that blocks can be released.
  var follower: Store?
  var operations = 0
  var reopenings = 0
  var compactions = 0
  var pastStates = 0
  /// The number of bytes released.
  var punched: UInt64 = 0

  /// - Parameter reading: the way in which the volume reads its files, regardless of the options of
  ///   a store.
  init(seed: UInt64, style: Int, reading: FileReading = .mapped) throws {
    self.reading = reading
    random = SeededRandom(seed: seed)
    keys = KeyMaker(style: style)
    disk = SimulatedVolume(seed: seed)
    var options = Store.Options()
    options.checkpointsInBackground = style % 4 == 3
    options.compaction = .manual
    options.writeBufferBudget = 65536
    options.durability = .relaxed
    options.nodeSize = style % 2 == 0 ? 1024 : 8192
    options.inlineValueLimit = style % 3 == 0 ? 64 : 512
    options.punchingThreshold = 1
    options.wholeCheckpoints = 1 + style % 3
    keepsFollower = style % 4 == 1
    if reading != .mapped { options.reading = .mapped }
    self.options = options
    store = try Store.open(
      at: "db", on: ReadingVolume(disk.process(1), reading), mode: .openOrCreate, options: options,
      environment: .system)
  }

  func run(operations wanted: Int) throws {
    if keepsFollower { try openFollower() }
    while operations < wanted {
      switch random.below(100) {
      case 0..<70: try transaction()
      case 70..<80: try reads(of: store, model, count: 20)
      case 80..<85: try takeOrCompareSnapshot()
      case 85..<88: try checkpoint()
      case 88: try comparePast()
      case 89: try follow()
      case 90..<92: try reopen()
      case 92: try compareChanges()
      case 93: try walks(over: store, model)
      case 94: try compareAll(store, model)
      case 95: try compact()
      default:
        try ranges(of: store, model)
        try batches(model)
      }
    }
    try compareAll(store, model)
    for old in held { try compareAll(old.snapshot, old.model) }
    try checkpoint()
    try compareAll(store, model)
    try comparePast()
    try follow()
    #expect(try store.verify().faults == [], "\(random.replay)")
    held = []
    try follower?.close()
    follower = nil
    try giveBack()
    if keepsFollower { try openFollower() }
    try store.close()
    try follow()
    try follower?.close()
  }

  /// Overwrites some entries and writes checkpoints, without any reader, so that blocks must be
  /// released.
  private func giveBack() throws {
    let name = keys.space(&random)
    let chosen = (0..<64).map { _ in keys.key(&random) }
    for round in 0..<options.wholeCheckpoints + 3 {
      let value = [UInt8](repeating: UInt8(round), count: 1000)
      try store.write { transaction in
        let space = try transaction.keyspace(name)
        for key in chosen { try transaction.put(key, value, in: space) }
      }
      for key in chosen { model.spaces[name, default: .init()].put(key, value) }
      try store.checkpoint()
    }
    punched += try store.statistics().punchedBytes
    try compareAll(store, model)
    #expect(try store.verify().faults == [], "\(random.replay)")
  }

  func openFollower() throws {
    follower = try Store.open(
      at: "db", on: ReadingVolume(disk.process(0), reading), mode: .readOnly, options: options,
      environment: .system)
  }

  func transaction() throws {
    var next = model
    let fails = random.oneIn(8)
    do {
      try store.write { transaction in
        for _ in 0...random.below(random.oneIn(4) ? 3000 : 100) { try step(transaction, &next) }
        if random.oneIn(4) { try reads(of: transaction, next, count: 5) }
        if random.oneIn(12) { try cursorWhileWriting(transaction, &next) }
        if random.oneIn(12) { try walks(over: transaction, next) }
        if random.oneIn(12) { try ranges(of: transaction, next) }
        if random.oneIn(30) { try compareAll(transaction, next) }
        if fails { throw OnPurpose() }
      }
      model = next
    } catch is OnPurpose {}
  }

  func step(_ transaction: Transaction, _ model: inout OrderedModel) throws {
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

  func checkpoint() throws {
    if random.oneIn(3) {
      // Without snapshots, their space can be released.
      for old in held { try compareAll(old.snapshot, old.model) }
      held = []
    }
    try store.checkpoint()
    let statistics = try store.statistics()
    if !options.checkpointsInBackground {
      #expect(statistics.checkpointTransaction == statistics.transaction, "\(random.replay)")
      #expect(statistics.pendingEntries == 0 && statistics.pendingRanges == 0, "\(random.replay)")
    }
    past[statistics.transaction] = model
  }

  /// Compacts. Held snapshots keep the old file. Earlier checkpoints are lost with it.
  func compact() throws {
    try store.compact()
    compactions += 1
    let statistics = try store.statistics()
    #expect(statistics.transaction == statistics.checkpointTransaction, "\(random.replay)")
    past = [statistics.transaction: model]
    try compareAll(store, model)
  }

  /// Opens the file again, after a close or after a sudden end of the process.
  func reopen() throws {
    for old in held { try compareAll(old.snapshot, old.model) }
    held = []
    punched += try store.statistics().punchedBytes
    reopenings += 1
    if random.oneIn(2) { try store.close() } else { disk.kill(process: process) }
    process += 1
    store = try Store.open(
      at: "db", on: ReadingVolume(disk.process(process), reading), mode: .openExisting, options: options,
      environment: .system)
    try compareAll(store, model)
    #expect(try store.verify().faults == [], "\(random.replay)")
  }

  func takeOrCompareSnapshot() throws {
    if held.count < 4 {
      held.append(Held(snapshot: try store.snapshot(), model: model))
    } else {
      let old = held.remove(at: random.below(held.count))
      try compareAll(old.snapshot, old.model)
      old.snapshot.close()
    }
  }
}
