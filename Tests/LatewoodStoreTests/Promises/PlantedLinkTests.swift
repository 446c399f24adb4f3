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
    if leadsNowhere {
      _ = try store.copy(to: target)
    } else {
      refusal(.alreadyExists) { _ = try store.copy(to: target) }
    }
    try checkVictims()
    try FileVolume().remove(target)
    try Directories.makeSymbolicLink(target, to: leadsNowhere ? nowhere : victim)
    if leadsNowhere {
      _ = try store.backup(to: target)
    } else {
      refusal(.alreadyExists) { _ = try store.backup(to: target) }
    }
    try checkVictims()
    try store.close()
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
