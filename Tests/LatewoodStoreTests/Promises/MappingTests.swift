import LatewoodDevice
import LatewoodFile
import LatewoodStore
import Testing

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The address space that open stores occupy, and views of a file that outgrows its mapping.
struct MappingTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  /// Raises the number of files that this process may have open, and returns it.
  private func raiseLimitOfFiles(to wanted: UInt64) -> UInt64 {
    var limit = rlimit()
    #if canImport(Glibc)
      let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
      let resource = RLIMIT_NOFILE
    #endif
    guard getrlimit(resource, &limit) == 0 else { return 0 }
    if UInt64(limit.rlim_cur) < wanted {
      limit.rlim_cur = min(rlim_t(wanted), limit.rlim_max)
      _ = setrlimit(resource, &limit)
    }
    return UInt64(limit.rlim_cur)
  }

  @Test func `five thousand stores can be open at the same time`() throws {
    let count = 5000
    var stores: [Store] = []
    // In-memory stores take no files, so all of them can be written to.
    for number in 0..<count / 2 {
      let store = try Store.inMemory()
      let space = try store.keyspace("s")
      try store.put("k", "\(number)", in: space, durability: .relaxed)
      stores.append(store)
    }
    let source = try Store.open(at: directory.store)
    try source.put("k", "v", in: source.keyspace("s"))
    let files = raiseLimitOfFiles(to: UInt64(count))
    try #require(files > 1000, "this process may not have files enough")
    for _ in 0..<min(count / 2, Int(files) - 500) {
      stores.append(try Store.open(at: directory.store, mode: .readOnly))
    }
    for (number, store) in stores.enumerated() {
      let space = try #require(try store.existingKeyspace("s"))
      #expect(try store.get("k", in: space) == Array((number < count / 2 ? "\(number)" : "v").utf8))
    }
    for store in stores { try store.close() }
    try source.close()
  }

  /// Enough rounds for the file to outgrow several mappings.
  private static let rounds = 40

  private func value(_ number: Int) -> [UInt8] {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 300_000 + number)
  }

  @Test(arguments: [true, false])
  func `a snapshot sees the same bytes however the file grows`(_ isInMemory: Bool) throws {
    let store = isInMemory ? try Store.inMemory() : try Store.open(at: directory.store)
    let space = try store.keyspace("s")
    var snapshots: [(Snapshot, Int)] = []
    for number in 0..<Self.rounds {
      try store.put("key\(number)", value(number), in: space, durability: .relaxed)
      try store.put("last", "\(number)", in: space, durability: .relaxed)
      if number % 4 == 0 { snapshots.append((try store.snapshot(), number)) }
      if number % 16 == 9 { try store.checkpoint() }
    }
    for (snapshot, number) in snapshots {
      for known in 0...number {
        #expect(try snapshot.get("key\(known)", in: space) == value(known))
      }
      #expect(try snapshot.get("last", in: space) == Array("\(number)".utf8))
      #expect(try snapshot.get("key\(number + 1)", in: space) == nil)
    }
    #expect(try store.verify().faults == [])
    for (snapshot, _) in snapshots { snapshot.close() }
    try store.close()
  }

  @Test func `a long transaction reads its own writes far beyond its first mapping`() throws {
    let store = try Store.open(at: directory.store)
    let space = try store.keyspace("s")
    try store.put("before", "1", in: space)
    try store.write { transaction in
      let cursor = try transaction.cursor(in: space)
      for number in 0..<Self.rounds * 2 {
        try transaction.put("key\(number)", value(number), in: space)
        if number % 16 == 3 {
          for known in stride(from: 0, through: number, by: 7) {
            #expect(try transaction.get("key\(known)", in: space) == value(known))
          }
          #expect(try transaction.get("before", in: space) == Array("1".utf8))
          #expect(try cursor.seek(to: "key0"))
          #expect(try cursor.value() == value(0))
        }
      }
      // A value of 1 MiB or more is written to the file separately.
      for number in 0..<8 {
        try transaction.put("large\(number)", [UInt8](repeating: UInt8(number), count: 3 << 20), in: space)
      }
      #expect(try transaction.get("large7", in: space)?.count == 3 << 20)
    }
    #expect(try store.count(in: space) == Self.rounds * 2 + 9)
    #expect(try store.get("key3", in: space) == value(3))
    try store.close()
    let again = try Store.open(at: directory.store)
    #expect(try again.get("key79", in: again.keyspace("s")) == value(79))
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `a reader follows a file that outgrows its mapping`() throws {
    let store = try Store.open(at: directory.store)
    let space = try store.keyspace("s")
    try store.put("key0", value(0), in: space)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    let theirs = try #require(try reader.existingKeyspace("s"))
    for number in 1..<Self.rounds {
      try store.put("key\(number)", value(number), in: space, durability: .relaxed)
      if number % 20 == 19 { try store.checkpoint() }
      if number % 5 == 0 {
        #expect(try reader.refresh())
        for known in 0...number { #expect(try reader.get("key\(known)", in: theirs) == value(known)) }
      }
    }
    try reader.close()
    try store.close()
  }
}
