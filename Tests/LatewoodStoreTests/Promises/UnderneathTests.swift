import LatewoodDevice
import LatewoodStore
import Testing

/// What others do to the file and to the clock while the store is open.
@Suite struct UnderneathTests {
  private let directory: StoreDirectory
  private let volume = FileVolume()
  private var options = Store.Options()
  private var aside: String { directory.store + "-aside" }

  init() throws {
    directory = try StoreDirectory()
    options.compaction = .manual
  }

  private func filled() throws -> (Store, Keyspace) {
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    try store.put("k", "before", in: space)
    return (store, space)
  }

  @Test func `a file that is removed stays removed, and can be used until it is closed`() throws {
    let (store, space) = try filled()
    try volume.remove(directory.store)
    try store.put("k", "after", in: space)
    refusal(.notFound) { try store.compact() }
    #expect(try !volume.exists(directory.store))
    #expect(try store.get("k", in: space) == Array("after".utf8))
    try store.put("l", "goes on", in: space)
    #expect(try store.verify().isSound)
    try store.copy(to: aside)
    try store.close()
    refusal(.notFound) { _ = try Store.open(at: directory.store, mode: .openExisting) }
    let copy = try Store.open(at: aside, mode: .readOnly)
    #expect(try copy.count(in: copy.keyspace("a")) == 2)
    try copy.close()
  }

  @Test func `a file that is renamed takes what is written, under its new name`() throws {
    let (store, space) = try filled()
    try volume.rename(directory.store, to: aside)
    try store.put("k", "after", in: space)
    refusal(.notFound) { try store.compact() }
    try store.put("l", "goes on", in: space)
    try store.close()
    #expect(try !volume.exists(directory.store))
    let again = try Store.open(at: aside, options: options)
    #expect(try again.get("k", in: again.keyspace("a")) == Array("after".utf8))
    #expect(try again.count(in: again.keyspace("a")) == 2)
    #expect(try again.verify().isSound)
    try again.close()
  }

  @Test func `a file that was put in its place is not overwritten`() throws {
    let (store, space) = try filled()
    let other = try Store.open(at: aside, options: options)
    try other.put("other", "1", in: other.keyspace("b"))
    try other.close()
    try volume.rename(aside, to: directory.store)
    try store.put("k", "after", in: space)
    refusal(.notFound) { try store.compact() }
    #expect(try store.get("k", in: space) == Array("after".utf8))
    try store.close()
    let again = try Store.open(at: directory.store, options: options)
    #expect(try again.keyspaces().map(\.name) == ["b"])
    #expect(try again.verify().isSound)
    try again.close()
  }

  /// Times are told to people, and decide nothing.
  @Test(arguments: [-1, 1]) func `a clock that jumps ten years does no harm`(_ direction: Int) throws {
    let now = Guarded<UInt64>(1_700_000_000_000_000)
    let clock = Environment(
      now: { now.withLock { $0 } }, random: { Environment.system.random() })
    let decade: UInt64 = 10 * 365 * 86_400 * 1_000_000
    for round in 0..<4 {
      let store = try Store.open(
        at: directory.store, on: volume, mode: .openOrCreate, options: options, environment: clock)
      let space = try store.keyspace("a")
      #expect(try store.count(in: space) == UInt64(round))
      try store.put("\(round)", "before", in: space)
      try store.checkpoint()
      // Back and forth, so that the newest checkpoint is not the one with the latest time.
      if (round % 2 == 0) == (direction > 0) {
        now.withLock { $0 += decade }
      } else {
        now.withLock { $0 -= decade }
      }
      try store.put("\(round)", "after", in: space)
      try store.checkpoint()
      if round == 2 { try store.compact() }
      #expect(try store.get("\(round)", in: space) == Array("after".utf8))
      #expect(try !store.history().isEmpty)
      #expect(try store.verify().isSound)
      try store.close()
    }
  }
}
