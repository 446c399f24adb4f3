import LatewoodBytes
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// The owner, permissions and attributes of a file before and after a compaction.
@Suite struct FileOwnershipTests {
  private let directory: StoreDirectory
  private let options = Store.Options.compactedByHand

  init() throws { directory = try StoreDirectory() }

  private static var isRoot: Bool {
    // Only root can change the owner of a file.
    get throws {
      let directory = try StoreDirectory()
      let path = try directory.write([1], to: "a")
      do throws(StorageError) { try Directories.setOwner(path, user: 12_345, group: 12_346) } catch {
        return false
      }
      return true
    }
  }

  /// Whether the file system supports an attribute. If not, nothing can be lost.
  private func takes(_ name: String, _ bytes: [UInt8], on path: String) -> Bool {
    do throws(StorageError) { try Directories.setAttribute(path, name, bytes) } catch {
      print("FileOwnershipTests: without \(name): \(error.reason)")
      return false
    }
    return true
  }

  private func permissions(of path: String) throws -> UInt16 {
    let device = try FileVolume().open(path, .readOnly)
    defer { device.close() }
    return try device.permissions()
  }

  /// An access control list in the format of Linux: version 2, then tag, permissions and id of each
  /// entry. User 4711 may read.
  private static let accessList: [UInt8] = {
    let none: UInt32 = .max
    let entries: [(tag: UInt16, permissions: UInt16, id: UInt32)] = [
      (0x01, 6, none), (0x02, 4, 4711), (0x04, 0, none), (0x10, 4, none), (0x20, 0, none),
    ]
    var bytes: [UInt8] = [2, 0, 0, 0]
    for entry in entries {
      for value in [entry.tag, entry.permissions] { bytes += [UInt8(value & 255), UInt8(value >> 8)] }
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: entry.id >> (8 * $0)) }
    }
    return bytes
  }()

  private func filled(_ options: Store.Options) throws -> (Store, Keyspace) {
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    try store.put("k", "before", in: space)
    return (store, space)
  }

  @Test func `a compaction keeps owner, group and permissions`() throws {
    let (store, space) = try filled(options)
    let isRoot = try Self.isRoot
    if isRoot {
      try Directories.setOwner(directory.store, user: 12_345, group: 12_346)
    } else {
      print("FileOwnershipTests: only root can give the file to another user")
    }
    try Directories.setPermissions(directory.store, 0o664)
    let owner = try Directories.owner(of: directory.store)
    for round in 0..<2 {
      try store.compact()
      #expect(try permissions(of: directory.store) == 0o664)
      #expect(try Directories.owner(of: directory.store) == owner)
      try store.put("\(round)", "after", in: space)
    }
    try store.close()
    #expect(try Directories.owner(of: directory.store) == owner)
    let again = try Store.open(at: directory.store, options: options)
    #expect(try again.count(in: again.keyspace("a")) == 3)
    try again.close()
  }

  @Test func `a compaction keeps extended attributes and the access control list, and adds none`() throws {
    let (store, _) = try filled(options)
    let mark = "user.latewood.test"
    let hasMark = takes(mark, [1, 2, 3], on: directory.store)
    let list = "system.posix_acl_access"
    let hasList = takes(list, Self.accessList, on: directory.store)
    try store.compact()
    if hasMark { #expect(try Directories.attribute(directory.store, mark) == [1, 2, 3]) }
    if hasList {
      #expect(try Directories.attribute(directory.store, list) == Self.accessList)
      #expect(try permissions(of: directory.store) == 0o640)
      try Directories.setAttribute(directory.store, list, nil)
      // New files in the directory get other attributes than this file.
      try Directories.setAttribute(directory.path, "system.posix_acl_default", Self.accessList)
      try Directories.setPermissions(directory.store, 0o600)
      try store.compact()
      #expect(try Directories.attribute(directory.store, list) == nil)
      #expect(try permissions(of: directory.store) == 0o600)
    }
    if hasMark {
      try Directories.setAttribute(directory.store, mark, nil)
      try store.compact { _ in
        // Changes during the compaction count too.
        do { try Directories.setAttribute(directory.store, mark, [7]) } catch { Issue.record(error) }
      }
      #expect(try Directories.attribute(directory.store, mark) == [7])
    }
    try store.close()
  }

  @Test func `a lock file created by root belongs to the database's owner`() throws {
    guard try Self.isRoot else {
      return print("FileOwnershipTests: only root can give the file to another user")
    }
    try filled(options).0.close()
    let lock = directory.store + ".lock"
    try FileVolume().remove(lock)
    try Directories.setOwner(directory.store, user: 12_345, group: 12_346)
    try Store.open(at: directory.store, options: options).close()
    #expect(try Directories.owner(of: lock) == (12_345, 12_346))
    #expect(try permissions(of: lock) == 0o600)
  }

  @Test
  func
    `a copy and a backup are their maker's, who can write to them whatever the permissions of the file are`()
    throws
  {
    let (store, _) = try filled(options)
    let own = try Directories.owner(of: directory.store)
    if try Self.isRoot { try Directories.setOwner(directory.store, user: 12_345, group: 12_346) }
    _ = takes("user.latewood.test", [1], on: directory.store)
    try Directories.setPermissions(directory.store, 0o444)
    let (copy, backup) = (directory.path + "/copy", directory.path + "/backup")
    _ = try store.copy(to: copy)
    _ = try store.backup(to: backup)
    for path in [copy, backup] {
      #expect(try permissions(of: path) == 0o644, "\(path)")
      #expect(try Directories.owner(of: path) == own, "\(path)")
      #expect(try Directories.attribute(path, "user.latewood.test") == nil, "\(path)")
    }
    try store.close()
  }

  // MARK: A user who may not give files away

  private func foreignFile(_ options: Store.Options) throws -> (SimulatedVolume, Store, Keyspace) {
    let volume = SimulatedVolume()
    let store = try Store.open(
      at: "db", on: volume, mode: .createNew, options: options, environment: .system)
    let space = try store.keyspace("a")
    try store.put("k", "before", in: space)
    var attributes = try volume.attributes(of: "db")
    attributes.user = 12_345
    attributes.permissions = 0o660
    try volume.setAttributes(of: "db", attributes)
    volume.canGiveFilesAway = false
    return (volume, store, space)
  }

  @Test func `a file that cannot keep its owner is not compacted, and the error gives advice`() throws {
    let (volume, store, space) = try foreignFile(options)
    let error = refusal(.permissionDenied) { try store.compact() }
    #expect(error?.path?.hasPrefix("db") == true)
    #expect(error?.advice.isEmpty == false)
    #expect(volume.liveNames == ["db"])
    try store.put("l", "goes on", in: space)
    #expect(try store.verify().isSound)
    volume.canGiveFilesAway = true
    try store.compact()
    #expect(try volume.attributes(of: "db").user == 12_345)
    #expect(try volume.attributes(of: "db").permissions == 0o660)
    #expect(try store.count(in: space) == 2)
    try store.close()
  }

  @Test func `a refused automatic compaction makes no copy, and is reported in the statistics`() throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.punchesHoles = false
    options.compaction.minimumSize = 1 << 16
    options.compaction.urgentDeadShare = 0.5
    let (volume, store, space) = try foreignFile(options)
    func overwrite(_ byte: UInt8) throws {
      try store.write { transaction in
        for number in 0..<300 {
          try transaction.put("key \(number)", [UInt8](repeating: byte, count: 400), in: space)
        }
      }
      try store.checkpoint()
    }
    var byte: UInt8 = 0
    try Patience.wait {
      byte &+= 1
      try overwrite(byte)
      return try store.statistics().compactionFailure != nil
    }
    #expect(try store.statistics().compactionFailure?.code == .permissionDenied)
    for round in 0..<20 { try overwrite(UInt8(round)) }
    let attempts = volume.trace.count { $0.kind == .create && $0.path == "db.compacting" }
    #expect(attempts > 0 && attempts <= 8, "\(attempts)")
    #expect(volume.trace.allSatisfy { $0.kind != .write || $0.path != "db.compacting" })
    #expect(try store.statistics().compactionFailure != nil)
    volume.canGiveFilesAway = true
    // Otherwise it could join an automatic compaction that has already been refused.
    Patience.wait { store.compactionProgress == nil }
    try store.compact()
    #expect(try store.statistics().compactionFailure == nil)
    try store.close()
  }

  @Test func `a power cut at any call of a compaction leaves the file with its owner`() throws {
    let seed = SeededRandom.seed()
    var random = SeededRandom(seed: seed)
    for call in 0... {
      let (volume, store, _) = try foreignFile(options)
      volume.canGiveFilesAway = true
      volume.inject(.powerCut, atCall: volume.callCount + call)
      do { try store.compact() } catch { if !volume.isCrashed { Issue.record(error) } }
      let images = volume.crashImages(seed: random.next(), random: 4)
      for index in [0, images.count / 2, images.count - 1] {
        let disk = try images[index].makeVolume()
        let found = try disk.attributes(of: "db")
        #expect(found.user == 12_345 && found.permissions == 0o660, "call \(call), \(images[index]); \(seed)")
      }
      if !volume.isCrashed {
        volume.clearFaults()
        try store.close()
        break
      }
    }
  }

  @Test func `the new file starts with the old permissions, and ends with the current ones`() throws {
    let (store, _) = try filled(options)
    try Directories.setPermissions(directory.store, 0o640)
    var atFirst: UInt16?
    try store.compact { _ in
      guard atFirst == nil else { return }
      do {
        atFirst = try permissions(of: directory.store + ".compacting")
        try Directories.setPermissions(directory.store, 0o604)
      } catch { Issue.record(error) }
    }
    #expect(atFirst == 0o640)
    #expect(try permissions(of: directory.store) == 0o604)
    try store.close()
  }
}
