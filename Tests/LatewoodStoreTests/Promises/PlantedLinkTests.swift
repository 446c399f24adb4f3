import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Another user can create files in the database's directory, so symbolic links may occupy names
/// that the engine will use.
@Suite struct PlantedLinkTests {
  private let directory: StoreDirectory
  /// The targets of the links: a file that must not be written to, and a path at which no file may
  /// be created.
  private let victim: String
  private let nowhere: String

  init() throws {
    directory = try StoreDirectory()
    victim = try directory.write(Array("as it was".utf8), to: "victim")
    nowhere = directory.path + "/nowhere"
  }

  private func checkVictims() throws {
    #expect(try StoreDirectory.bytes(of: victim) == Array("as it was".utf8))
    #expect(try !FileVolume().exists(nowhere))
  }

  private func permissions(of path: String) throws -> UInt16 {
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    return try device.permissions()
  }

  private func makeStore() throws -> Store {
    let store = try Store.open(at: directory.store)
    try store.put("apple", "red", in: store.keyspace("fruit"))
    try store.checkpoint()
    return store
  }

  @Test(arguments: [true, false])
  func `a link in place of an unfinished file is removed and not followed`(_ leadsNowhere: Bool) throws {
    let target = leadsNowhere ? nowhere : victim
    try Directories.makeSymbolicLink(directory.store + ".creating", to: target)
    let store = try makeStore()
    try checkVictims()
    try Directories.makeSymbolicLink(directory.store + ".compacting", to: target)
    try store.compact()
    try checkVictims()
    let (copy, backup) = (directory.path + "/copy", directory.path + "/backup")
    try Directories.makeSymbolicLink(copy + ".compacting", to: target)
    _ = try store.copy(to: copy)
    try checkVictims()
    try Directories.makeSymbolicLink(backup + ".backing-up", to: target)
    _ = try store.backup(to: backup)
    try checkVictims()
    for path in [directory.store, copy, backup, directory.store + ".lock"] {
      #expect(try permissions(of: path) == 0o600, "\(path)")
    }
    #expect(try store.verify().isSound)
    try store.close()
    for suffix in [".creating", ".compacting", ".backing-up"] {
      try Directories.makeSymbolicLink(directory.store + suffix, to: target)
    }
    try Store.open(at: directory.store).close()
    try checkVictims()
    let names = try Directories.names(in: directory.path).filter { $0.contains("ing") || $0.contains("up.") }
    #expect(names.allSatisfy { $0.hasSuffix(".lock") }, "\(names)")
  }

  @Test(arguments: [true, false])
  func `a link in place of the lock file is refused`(_ leadsNowhere: Bool) throws {
    try makeStore().close()
    let lock = directory.store + ".lock"
    try FileVolume().remove(lock)
    try Directories.makeSymbolicLink(lock, to: leadsNowhere ? nowhere : victim)
    #expect(throws: StoreError.self) { try Store.open(at: directory.store) }
    try checkVictims()
    try FileVolume().remove(lock)
    try Store.open(at: directory.store).close()
  }

  @Test(arguments: [true, false])
  func `a copy or backup does not write through a link in place of its target`(_ leadsNowhere: Bool) throws {
    let store = try makeStore()
    let target = directory.path + "/target"
    try Directories.makeSymbolicLink(target, to: leadsNowhere ? nowhere : victim)
    let code = leadsNowhere ? StoreError.Code.notFound : .alreadyExists
    refusal(code) { _ = try store.copy(to: target) }
    refusal(code) { _ = try store.backup(to: target) }
    try checkVictims()
    #expect(try Directories.names(in: directory.path).contains("target"))
    try store.close()
  }

  @Test func `no database is created where a link leads nowhere`() throws {
    try Directories.make(directory.path + "/parent")
    try Directories.makeSymbolicLink(directory.path + "/through", to: directory.path + "/parent")
    try Directories.makeSymbolicLink(directory.path + "/first", to: directory.path + "/second")
    for (link, lead) in [("link", nowhere), ("second", "nowhere"), ("far", "/no/such/directory/db")] {
      try Directories.makeSymbolicLink(directory.path + "/" + link, to: lead)
    }
    let before = try Directories.names(in: directory.path)
    for name in ["link", "first", "second", "far"] {
      let path = directory.path + "/" + name
      for mode in [Store.OpenMode.openOrCreate, .createNew] {
        let error = refusal(.notFound) { _ = try Store.open(at: path, mode: mode) }
        #expect(error?.message.contains("symbolic link") == true, "\(name)")
        #expect(error?.advice.contains("remove the link") == true, "\(name)")
      }
      for mode in [Store.OpenMode.openExisting, .readOnly] {
        refusal(.notFound) { _ = try Store.open(at: path, mode: mode) }
      }
      refusal(.notFound) { try Store.install(at: path) { _ in } }
      refusal(.notFound) { try Store.replace(at: path) { _ in } }
      #expect(try !Store.exists(at: path) && !Store.delete(at: path))
    }
    #expect(try Directories.names(in: directory.path) == before)
    // A link on the way there is a directory like any other.
    try Store.open(at: directory.path + "/through/db").close()
    #expect(try FileVolume().exists(directory.path + "/parent/db"))
  }

  @Test func `a link to a database stays a link when the database is replaced`() throws {
    try makeStore().close()
    let link = directory.path + "/link"
    try Directories.makeSymbolicLink(link, to: directory.store)
    func inode() throws -> FileIdentity? { try FileVolume().identity(of: directory.store) }
    let store = try Store.open(at: link)
    var before = try inode()
    try store.compact()
    #expect(try inode() != before)
    let backup = directory.path + "/backup"
    try Directories.makeSymbolicLink(directory.path + "/to backup", to: backup)
    _ = try store.backup(to: backup)
    _ = try store.backup(to: directory.path + "/to backup")
    try store.close()
    before = try inode()
    try Store.replace(at: link) { staging in
      let other = try Store.open(at: staging)
      try other.put("pear", "green", in: other.keyspace("fruit"))
      try other.close()
    }
    #expect(try inode() != before)
    #expect(try FileVolume().resolved(link) == FileVolume().resolved(directory.store))
    let replaced = try Store.open(at: directory.store)
    #expect(try replaced.get("pear", in: replaced.keyspace("fruit")) == Array("green".utf8))
    try replaced.close()
    try FileVolume().remove(directory.store)
    // The link led to the file, and now leads nowhere.
    #expect(try !FileVolume().exists(link))
    #expect(try FileVolume().resolved(directory.path + "/to backup").hasSuffix("/backup"))
  }

  @Test func `requested permissions survive a compaction, a copy and a backup`() throws {
    var options = Store.Options()
    options.permissions = 0o640
    let store = try Store.open(at: directory.store, options: options)
    try store.put("apple", "red", in: store.keyspace("fruit"))
    try store.compact()
    _ = try store.copy(to: directory.path + "/copy")
    _ = try store.backup(to: directory.path + "/backup")
    for path in [directory.store, directory.path + "/copy", directory.path + "/backup"] {
      #expect(try permissions(of: path) == 0o640, "\(path)")
    }
    // Nobody else may open the lock file: that would allow them to keep the owner out.
    #expect(try permissions(of: directory.store + ".lock") == 0o600)
    #expect(try store.verify().isSound)
    try store.close()
  }
}
