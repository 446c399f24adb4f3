import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Files that are examined, deleted and installed without being open.
@Suite struct WholeFileTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  /// A database with one entry.
  private func make() throws -> Store {
    let store = try Store.open(at: directory.store)
    try store.put("k", "v", in: store.keyspace("a"))
    return store
  }

  @Test func `a file exists from its creation until it is deleted together with its lock file`() throws {
    #expect(try !Store.exists(at: directory.store))
    #expect(try !Store.delete(at: directory.store))
    try make().close()
    #expect(try Store.exists(at: directory.store))
    #expect(try !Store.exists(at: directory.store + "/below"))
    #expect(try Store.delete(at: directory.store))
    #expect(try !Store.exists(at: directory.store))
    #expect(try Directories.names(in: directory.path) == [])
    refusal(.invalidName) { _ = try Store.exists(at: "a\0b") }
  }

  @Test func `a database open for writing is not deleted, and the error gives advice`() throws {
    let store = try make()
    let error = refusal(.lockedByThisProcess) { try Store.delete(at: directory.store) }
    #expect(error?.advice.hasPrefix("Close the database first") == true)
    try store.put("l", "w", in: store.keyspace("a"))
    try store.close()
    #expect(try Store.delete(at: directory.store))
  }

  @Test func `a reader can still read after the file was deleted`() throws {
    try make().close()
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try Store.delete(at: directory.store))
    #expect(try reader.get("k", in: reader.keyspace("a")) == Array("v".utf8))
    try reader.close()
  }

  @Test func `a file that is not a database is not deleted`() throws {
    let foreign = try directory.write(Array("a letter".utf8), to: "letter")
    let error = refusal(.notADatabase) { try Store.delete(at: foreign) }
    #expect(error?.path == foreign)
    #expect(try Store.exists(at: foreign))
    refusal(.isDirectory) { try Store.delete(at: directory.path) }
  }

  @Test func `deleting a link deletes the file it leads to`() throws {
    try make().close()
    let link = directory.path + "/link"
    try Directories.makeSymbolicLink(link, to: directory.store)
    #expect(try Store.delete(at: link))
    #expect(try !Store.exists(at: directory.store))
    #expect(try !Store.exists(at: link))
  }

  @Test func `a power cut during a delete leaves the database whole or gone, and later only gone`() throws {
    for call in 0... {
      let volume = SimulatedVolume()
      func open(on volume: SimulatedVolume) throws -> Store {
        try Store.open(
          at: "db", on: volume, mode: .openOrCreate, options: Store.Options(), environment: .system)
      }
      let store = try open(on: volume)
      try store.put("k", "v", in: store.keyspace("a"))
      try store.close()
      volume.inject(.powerCut, atCall: volume.callCount + call)
      var isDeleted = false
      do { isDeleted = try Store.delete(at: "db", on: volume) } catch {
        #expect(volume.isCrashed, "\(error) at call \(call)")
      }
      for image in volume.crashImages(seed: 1, random: 4) {
        let disk = try image.makeVolume()
        guard try Store.exists(at: "db", on: disk) else { continue }
        #expect(!isDeleted, "it came back: call \(call), \(image)")
        let store = try open(on: disk)
        #expect(try store.get("k", in: store.keyspace("a")) == Array("v".utf8), "call \(call), \(image)")
        try store.close()
      }
      if isDeleted {
        #expect(call > 0)
        break
      }
    }
  }

  @Test func `a file is installed only if none exists, and a failed build leaves no files`() throws {
    var built = 0
    func install(_ build: (Store) throws -> Void = { _ in }) throws {
      try Store.install(at: directory.store) { path in
        built += 1
        #expect(try !Store.exists(at: directory.store))
        refusal(.lockedByThisProcess) { try install() }
        let store = try Store.open(at: path)
        try store.put("k", "v", in: store.keyspace("a"))
        try build(store)
        try store.close()
      }
    }
    #expect(throws: OnPurpose.self) { try install { _ in throw OnPurpose() } }
    #expect(try Directories.names(in: directory.path).filter { !$0.hasSuffix(".lock") } == [])
    try install()
    let bytes = try StoreDirectory.bytes(of: directory.store)
    let error = refusal(.alreadyExists) { try install() }
    #expect(error?.path?.hasSuffix("db.latewood") == true)
    #expect(try StoreDirectory.bytes(of: directory.store) == bytes)
    #expect(built == 2)
  }
}
