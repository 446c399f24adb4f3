import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodTestSupport
import Synchronization
import Testing

@testable import LatewoodStore

/// Stores whose files are not mapped but read into a cache that is smaller than they are.
@Suite struct BufferedReadingTests {
  private static let cacheBytes = 1 << 20
  private let directory: StoreDirectory
  private var options = Store.Options()

  init() throws {
    directory = try StoreDirectory()
    options.reading = .buffered(cacheBytes: Self.cacheBytes)
    options.compaction = .manual
    options.writeBufferBudget = 1 << 20
  }

  private func open(
    _ mode: Store.OpenMode = .openOrCreate, _ options: Store.Options? = nil
  ) throws -> Store {
    try Store.open(at: directory.store, mode: mode, options: options ?? self.options)
  }

  private static func key(_ number: Int) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
  }

  /// Some values are in leaves, some stay where the commit wrote them, some are longer than a
  /// segment of the cache, and some are too long for the cache to keep a proof of them.
  private static func value(_ number: Int, _ round: Int = 0) -> [UInt8] {
    let length =
      number % 1940 == 0 ? 300_000 : number % 97 == 0 ? 70_000 : number % 10 == 0 ? 3000 : 100
    let seed = number &* 7 &+ round &* 13
    return [UInt8](unsafeUninitializedCapacity: length) { bytes, count in
      for at in 0..<length { bytes[at] = UInt8(truncatingIfNeeded: seed &+ at &* 3) }
      count = length
    }
  }

  private func fill(_ store: Store, _ numbers: Range<Int>, round: Int = 0) throws -> Keyspace {
    let space = try store.keyspace("s")
    try store.write { transaction in
      for number in numbers { try transaction.put(Self.key(number), Self.value(number, round), in: space) }
    }
    return space
  }

  /// Waits until the log of a checkpoint is no longer in memory. Another thread may release the
  /// last version that needs it a little later.
  private func shrinks(_ store: Store, to limit: UInt64) throws -> Bool {
    try Patience.wait { try store.statistics().cachedBytes <= limit }
  }

  @Test func `reads and writes work in transactions, and after checkpoints and compactions`() throws {
    let store = try open()
    let count = 4000
    let space = try fill(store, 0..<count)
    let check = { (reads: any Readable, round: (Int) -> Int) in
      var seen = 0
      try reads.forEach(in: space) { key, value in
        let isRight =
          key.withUnsafeBytes { [UInt8]($0) } == Self.key(seen)
          && value.withUnsafeBytes { $0.elementsEqual(Self.value(seen, round(seen))) }
        if !isRight { throw Wrong("entry \(seen)") }
        seen += 1
        return true
      }
      #expect(seen == count)
      for number in stride(from: 0, to: count, by: 7) {
        guard try reads.get(Self.key(number), in: space) == Self.value(number, round(number)) else {
          throw Wrong("value \(number)")
        }
      }
    }
    try check(store) { _ in 0 }
    try store.checkpoint()
    try check(store) { _ in 0 }
    let before = try store.snapshot()
    try store.write { transaction in
      for number in 0..<count / 2 { try transaction.put(Self.key(number), Self.value(number, 1), in: space) }
      try check(transaction) { $0 < count / 2 ? 1 : 0 }
    }
    try check(store) { $0 < count / 2 ? 1 : 0 }
    try check(before) { _ in 0 }
    try store.checkpoint()
    try store.compact()
    try check(store) { $0 < count / 2 ? 1 : 0 }
    try check(before) { _ in 0 }
    #expect(try store.verify().faults == [])
    let statistics = try store.statistics()
    #expect(!statistics.isMapped && statistics.cachedBytes > 0)
    try store.copy(to: directory.path + "/copy")
    try store.close()
    let again = try open(.openExisting)
    #expect(try again.count(in: space.inStore(again)) == count)
    try again.close()
  }

  @Test func `an unmerged log is read from the file, even after reopening`() throws {
    var options = options
    options.checkpointsInBackground = false
    options.writeBufferBudget = 64 << 20
    let store = try open(.createNew, options)
    let space = try fill(store, 0..<3000)
    try store.write { try $0.put("large", [UInt8](repeating: 5, count: 3 << 20), in: space) }
    try store.sync()
    // A copy of the file as it would be if the process had ended here.
    let copy = try directory.copy(of: directory.store, as: "copy")
    let again = try Store.open(at: copy, mode: .openExisting, options: options)
    for reads in [store, again] {
      let space = try reads.keyspace("s")
      for number in stride(from: 0, to: 3000, by: 11) {
        #expect(try reads.get(Self.key(number), in: space) == Self.value(number))
      }
      #expect(try reads.get("large", in: space) == [UInt8](repeating: 5, count: 3 << 20))
      let before = try reads.statistics().cachedBytes
      #expect(before > 4 << 20)
      try reads.checkpoint()
      #expect(try reads.get("large", in: space)?.count == 3 << 20)
      _ = try reads.get(Self.key(1), in: space)
      // Like everything else, the log is now read again when it is needed.
      #expect(try shrinks(reads, to: UInt64(Self.cacheBytes) + 200_000))
    }
    try store.close()
    try again.close()
  }

  @Test func `scans, cursors and snapshots of 32 MiB fit in a cache of 1 MiB`() throws {
    let store = try open()
    let space = try store.keyspace("s")
    for part in 0..<16 {
      try store.write { transaction in
        for number in part * 2000..<(part + 1) * 2000 {
          try transaction.put(
            Self.key(number), [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1000), in: space)
        }
      }
    }
    try store.checkpoint()
    let limit = UInt64(Self.cacheBytes + 256 << 10)
    #expect(try shrinks(store, to: limit))
    let snapshot = try store.snapshot()
    let idle = try snapshot.cursor(in: space)
    #expect(try idle.seek(to: Self.key(777)))
    var seen = 0
    var greatest: UInt64 = 0
    for reversed in [false, true] {
      try snapshot.forEach(in: space, reversed: reversed) { _, value in
        if value.byteCount != 1000 { throw Wrong("entry \(seen)") }
        seen += 1
        if seen % 500 == 0 { greatest = max(greatest, try store.statistics().cachedBytes) }
        return true
      }
    }
    let cursor = try snapshot.cursor(in: space)
    var isThere = try cursor.seekFirst()
    while isThere {
      seen += 1
      guard try cursor.key().count == 4, try cursor.value().count == 1000 else { throw Wrong("cursor") }
      if seen % 500 == 0 { greatest = max(greatest, try store.statistics().cachedBytes) }
      isThere = try cursor.next()
    }
    #expect(seen == 3 * 32_000)
    #expect(greatest <= limit)
    // The idle cursor has not kept anything in memory, but it has kept its position.
    #expect(try idle.key() == Self.key(777))
    #expect(try idle.value() == [UInt8](repeating: UInt8(truncatingIfNeeded: 777), count: 1000))
    #expect(try idle.next() && idle.key() == Self.key(778))
    try store.close()
  }

  @Test func `held states and slow closures keep no more in memory`() throws {
    let store = try open()
    let space = try store.keyspace("s")
    let count = 8000
    try store.write { transaction in
      for number in 0..<count {
        try transaction.put(
          Self.key(number), [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 1000), in: space)
      }
    }
    try store.checkpoint()
    let limit = UInt64(Self.cacheBytes + 256 << 10)
    #expect(try shrinks(store, to: limit))
    let state = try store.held()
    var greatest: UInt64 = 0
    let readAll = {
      for number in 0..<count {
        try state.reading {
          let key = Self.key(number)
          let value = try key.withUnsafeBytes { try state.value(of: $0, in: space) }
          if value?.count != 1000 { throw Wrong("entry \(number)") }
        }
        if number % 200 == 0 { greatest = max(greatest, try store.statistics().cachedBytes) }
      }
    }
    try readAll()
    #expect(greatest <= limit)
    var seen = 0
    try store.forEach(in: space) { key, value in
      if seen % 2000 == 5 {
        try readAll()
        let isRight =
          key.withUnsafeBytes { [UInt8]($0) } == Self.key(seen)
          && value.withUnsafeBytes { $0.allSatisfy { $0 == UInt8(truncatingIfNeeded: seen) } }
        if !isRight { throw Wrong("entry \(seen)") }
      }
      seen += 1
      return true
    }
    #expect(seen == count)
    #expect(greatest <= limit)
    try store.close()
  }

  @Test func `a value stays valid inside its closure while everything else is read`() throws {
    let store = try open()
    let space = try fill(store, 0..<6000)
    try store.checkpoint()
    let snapshot = try store.snapshot()
    let cursor = try snapshot.cursor(in: space)
    let wanted = Self.value(970)
    let readOthers = {
      for number in stride(from: 0, to: 6000, by: 13) { _ = try store.get(Self.key(number), in: space) }
      try store.forEach(in: space) { _, _ in true }
    }
    let found: Void? = try snapshot.withValue(Self.key(970), in: space) { value in
      try readOthers()
      #expect(value.withUnsafeBytes { $0.elementsEqual(wanted) })
    }
    #expect(found != nil)
    #expect(try cursor.seek(to: Self.key(970)))
    try cursor.withValue { value in
      try readOthers()
      #expect(try cursor.next())
      #expect(value.withUnsafeBytes { $0.elementsEqual(wanted) })
    }
    try store.write { transaction in
      let found: Void? = try transaction.withValue(Self.key(970), in: space) { value in
        try readOthers()
        #expect(value.withUnsafeBytes { $0.elementsEqual(wanted) })
      }
      #expect(found != nil)
    }
    try store.close()
  }

  @Test func `threads read correct data beside a writer, checkpoints and compactions`() throws {
    let store = try open()
    let count = 3000
    let space = try fill(store, 0..<count)
    try store.checkpoint()
    let isOver = Atomic<Bool>(false)
    let seed = SeededRandom.seed()
    inParallel(3) { thread in
      var random = SeededRandom(seed: seed &+ UInt64(thread))
      if thread == 0 {
        defer { isOver.store(true, ordering: .relaxed) }
        for round in 1...4 {
          _ = try self.fill(store, 0..<count, round: round)
          try store.checkpoint()
          if round == 2 { try store.compact() }
        }
        return
      }
      let held = try store.snapshot()
      var rounds: [Int: [UInt8]] = [:]
      while !isOver.load(ordering: .relaxed) {
        let number = random.below(count)
        guard let value = try store.get(Self.key(number), in: space),
          (0...4).contains(where: { Self.value(number, $0) == value })
        else { throw Wrong("value \(number), seed \(seed)") }
        let old = try held.get(Self.key(number), in: space)
        if let first = rounds[number], first != old { throw Wrong("held \(number), seed \(seed)") }
        rounds[number] = old
      }
    }
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a reader beside a writer sees each commit, and the new file of a compaction`() throws {
    var options = options
    options.checkpointsInBackground = false
    let store = try open(.createNew, options)
    let space = try fill(store, 0..<100)
    let reader = try open(.readOnly)
    for round in 1..<12 {
      _ = try fill(store, round * 100..<(round + 1) * 100)
      if round % 3 == 0 { try store.checkpoint() }
      if round % 5 == 0 { try store.compact() }
      let before = try reader.snapshot()
      #expect(try reader.refresh())
      let there = try reader.keyspace(named: "s", or: space)
      #expect(try reader.count(in: there) == (round + 1) * 100)
      #expect(try before.count(in: there) == round * 100)
      for number in stride(from: 0, to: (round + 1) * 100, by: 3) {
        #expect(try reader.get(Self.key(number), in: there) == Self.value(number))
      }
      #expect(try reader.verify().faults == [])
    }
    try reader.close()
    try store.close()
  }

  @Test func `files on local disks are mapped by default`() throws {
    var options = options
    options.reading = .automatic
    let store = try open(.createNew, options)
    let statistics = try store.statistics()
    #expect(statistics.isMapped && statistics.cachedBytes == 0)
    try store.close()
    options.reading = .mapped
    let mapped = try open(.openExisting, options)
    #expect(try mapped.statistics().isMapped)
    try mapped.close()
  }

  /// nil stands for a remote file.
  @Test(arguments: [StorageError.Kind?.none, .unsupported, .outOfMemory, .permissionDenied])
  func `files that are remote or cannot be mapped are read through a cache`(_ refusal: StorageError.Kind?)
    throws
  {
    var options = options
    options.reading = .automatic
    let volume = SimulatedVolume(seed: 1)
    if let refusal { volume.refuseMappings(refusal) } else { volume.becomeRemote() }
    let store = try Store.open(
      at: "db", on: volume, mode: .createNew, options: options, environment: .system)
    let space = try fill(store, 0..<200)
    try store.checkpoint()
    #expect(try store.get(Self.key(100), in: space) == Self.value(100))
    #expect(try !store.statistics().isMapped)
    try store.compact()
    #expect(try store.get(Self.key(100), in: space) == Self.value(100))
    #expect(try !store.statistics().isMapped)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `a request for a mapping fails if the system has none`() throws {
    var options = options
    options.reading = .mapped
    let volume = SimulatedVolume(seed: 1)
    volume.refuseMappings(.unsupported)
    let error = refusal(.unsupported) {
      _ = try Store.open(at: "db", on: volume, mode: .createNew, options: options, environment: .system)
    }
    #expect(error?.path == "db")
  }
}

extension Keyspace {
  fileprivate func inStore(_ store: Store) throws -> Keyspace { try store.keyspace(name) }
}

extension Store {
  /// The keyspace handle of a store that is open read-only.
  fileprivate func keyspace(named name: String, or other: Keyspace) throws -> Keyspace {
    try existingKeyspace(name) ?? other
  }
}
