import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Changes to the file and the clock by others while the store is open.
@Suite struct UnderneathTests {
  private let directory: StoreDirectory
  private let volume = FileVolume()
  private var options = Store.Options()
  private var aside: String { directory.store + "-aside" }

  init() throws { self.init(try StoreDirectory()) }

  private init(_ directory: StoreDirectory) {
    self.directory = directory
    options.compaction = .manual
  }

  private func filled() throws -> (Store, Keyspace) {
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    try store.put("k", "before", in: space)
    return (store, space)
  }

  /// Waits until the next commit checks the path again: see `PathCheck.interval`.
  private func waitForLookup() { Monitor.sleep(milliseconds: 3) }

  /// The mishaps that can befall an open file.
  enum Mishap: CaseIterable {
    case removed, renamed, replacedByDatabase, replacedByDirectory, replacedByLink
  }

  private func happen(_ mishap: Mishap) throws {
    switch mishap {
    case .removed: try volume.remove(directory.store)
    case .renamed: try volume.rename(directory.store, to: aside)
    case .replacedByDatabase:
      let other = try Store.open(at: aside, options: options)
      try other.put("other", "1", in: other.keyspace("b"))
      try other.close()
      try volume.rename(aside, to: directory.store)
    case .replacedByDirectory:
      try volume.remove(directory.store)
      try Directories.make(directory.store)
    case .replacedByLink:
      try volume.rename(directory.store, to: aside)
      try Directories.makeSymbolicLink(directory.store, to: aside)
    }
  }

  /// Checks that the file at the path, if any, was not changed.
  private func checkPath(_ mishap: Mishap) throws {
    switch mishap {
    case .removed: #expect(try !volume.exists(directory.store))
    case .renamed: #expect(try !volume.exists(directory.store) && volume.exists(aside))
    case .replacedByDatabase:
      let again = try Store.open(at: directory.store, options: options)
      #expect(try again.keyspaces().map(\.name) == ["b"])
      #expect(try again.verify().isSound)
      try again.close()
    case .replacedByDirectory: #expect(Directories.isDirectory(directory.store))
    case .replacedByLink:
      #expect(try volume.resolved(directory.store) == volume.resolved(aside))
    }
  }

  @Test(arguments: Mishap.allCases)
  func `once the file is taken away no commit is acknowledged, but reads and copies work`(_ mishap: Mishap)
    throws
  {
    let (store, space) = try filled()
    try happen(mishap)
    waitForLookup()
    let error = refusal(.fileMoved) { try store.put("k", "after", in: space) }
    #expect(error?.path?.hasSuffix("db.latewood") == true)
    #expect(error?.advice.contains("copy(to:)") == true)
    // Now the store knows about it.
    refusal(.fileMoved) { try store.put("k", "after", in: space) }
    refusal(.fileMoved) {
      try store.write(durability: .relaxed) { try $0.put("k", "after", in: space) }
    }
    refusal(.fileMoved) { try store.checkpoint() }
    refusal(.fileMoved) { try store.sync() }
    refusal(.fileMoved) { try store.compact() }
    refusal(.fileMoved) { _ = try store.backup(to: directory.path + "/backup") }
    #expect(try store.get("k", in: space) == Array("before".utf8))
    #expect(try store.verify().isSound)
    let rescued = directory.path + "/rescued"
    try store.copy(to: rescued)
    try store.close()
    try checkPath(mishap)
    let copy = try Store.open(at: rescued, options: options)
    #expect(try copy.get("k", in: copy.keyspace("a")) == Array("before".utf8))
    #expect(try copy.verify().isSound)
    try copy.put("k", "after", in: copy.keyspace("a"))
    try copy.close()
    if mishap == .renamed {
      let moved = try Store.open(at: aside, options: options)
      #expect(try moved.get("k", in: moved.keyspace("a")) == Array("before".utf8))
      #expect(try moved.verify().isSound)
      try moved.close()
    }
  }

  @Test(arguments: Mishap.allCases)
  func `checkpoints, syncs, compactions, backups and closing notice a file taken away`(
    _ mishap: Mishap
  ) throws {
    let calls: [(Store) throws -> Void] = [
      { try $0.checkpoint() }, { try $0.sync() }, { try $0.compact() },
      { [directory] in _ = try $0.backup(to: directory.path + "/backup") }, { try $0.close() },
    ]
    for (number, call) in calls.enumerated() {
      let directory = try StoreDirectory()
      let store = try Store.open(at: directory.store, options: options)
      let space = try store.keyspace("a")
      try store.put("k", "before", in: space)
      try UnderneathTests(directory).happen(mishap)
      // A relaxed commit is acknowledged without a check of the path.
      try store.write(durability: .relaxed) { try $0.put("k", "after", in: space) }
      waitForLookup()
      refusal(.fileMoved) { try call(store) }
      if number < calls.count - 1 {
        #expect(try store.get("k", in: space) == Array("after".utf8))
        try store.copy(to: directory.path + "/rescued")
        let copy = try Store.open(at: directory.path + "/rescued", mode: .readOnly)
        #expect(try copy.get("k", in: copy.keyspace("a")) == Array("after".utf8))
        try copy.close()
        try store.close()
      }
      try UnderneathTests(directory).checkPath(mishap)
    }
  }

  @Test func `a file with two names can be written, but not compacted, which would split it`() throws {
    let (store, space) = try filled()
    try Directories.makeHardLink(aside, to: directory.store)
    try store.put("k", "after", in: space)
    try store.checkpoint()
    let error = refusal(.hardLinked) { try store.compact() }
    #expect(error?.path?.hasSuffix("db.latewood") == true && error?.advice.isEmpty == false)
    #expect(try directory.others() == ["db.latewood-aside"])
    try store.put("l", "goes on", in: space)
    try store.close()
    let other = try Store.open(at: aside, mode: .readOnly)
    #expect(try other.count(in: other.keyspace("a")) == 2)
    try other.close()
    try volume.remove(aside)
    let again = try Store.open(at: directory.store, options: options)
    try again.compact()
    #expect(try again.count(in: again.keyspace("a")) == 2)
    try again.close()
  }

  @Test func `a second name that appears during a compaction stops it`() throws {
    let (store, space) = try filled()
    refusal(.hardLinked) {
      try store.compact { _ in
        do {
          if try !volume.exists(aside) { try Directories.makeHardLink(aside, to: directory.store) }
        } catch { Issue.record(error) }
      }
    }
    #expect(try volume.identity(of: aside) == volume.identity(of: directory.store))
    try store.put("l", "goes on", in: space)
    try volume.remove(aside)
    try store.compact()
    #expect(try store.count(in: space) == 2)
    try store.close()
  }

  @Test func `a symbolic link is followed only when the file is opened`() throws {
    let (link, other) = (directory.path + "/link", directory.path + "/other")
    try filled().0.close()
    let second = try Store.open(at: other, options: options)
    try second.put("other", "1", in: second.keyspace("b"))
    try second.close()
    try Directories.makeSymbolicLink(link, to: directory.store)
    let store = try Store.open(at: link, options: options)
    try volume.remove(link)
    try Directories.makeSymbolicLink(link, to: other)
    let space = try store.keyspace("a")
    try store.put("k", "after", in: space)
    try store.compact()
    try store.close()
    let first = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try first.get("k", in: first.keyspace("a")) == Array("after".utf8))
    try first.close()
    let untouched = try Store.open(at: link, mode: .readOnly)
    #expect(try untouched.keyspaces().map(\.name) == ["b"])
    try untouched.close()
  }

  /// Times are only shown to people; no decision depends on them.
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
      // Back and forth, so that the newest checkpoint does not have the latest time.
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
