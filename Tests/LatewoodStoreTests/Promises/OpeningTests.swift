import LatewoodBytes
import LatewoodDevice
import LatewoodFile
import LatewoodSimulation
import LatewoodStore
import LatewoodTerminal
import Testing

/// Files of the real file system that cannot be opened: each error states the reason, and the files
/// are not changed.
@Suite struct OpeningTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  /// A database with one entry.
  private func make() throws {
    let store = try Store.open(at: directory.store)
    try store.put("k", "v", in: store.keyspace("a"))
    try store.close()
  }

  @Test(arguments: [100, 100_000])
  func `opening after a clean close reads two frames, regardless of size`(entries: Int) throws {
    var options = Store.Options()
    options.durability = .relaxed
    let store = try Store.open(at: directory.store, options: options)
    let keyspace = try store.keyspace("a")
    for start in stride(from: 0, to: entries, by: 1000) {
      try store.write { transaction in
        for number in start..<min(start + 1000, entries) {
          try transaction.put("\(number &* 0x9E37_79B9)", "some value of \(number)", in: keyspace)
        }
      }
    }
    try store.close()
    for isReadOnly in [false, true] {
      let file = try DatabaseFile.open(
        on: FileVolume(), path: directory.store, readOnly: isReadOnly, environment: .system)
      defer { file.close() }
      let report = try file.recover { _, _, _ in }
      // The frame of the checkpoint, and the seal that closing writes.
      #expect(report.framesReplayed == 2)
      #expect(report.bytesReplayed == 0)
    }
    let reopened = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try reopened.count(in: reopened.keyspace("a")) == entries)
    try reopened.close()
  }

  @Test func `modes that need an existing file do not create one`() throws {
    for mode in [Store.OpenMode.openExisting, .readOnly] {
      let error = refusal(.notFound) { _ = try Store.open(at: directory.store, mode: mode) }
      #expect(error?.path == directory.store)
      #expect(error?.description.contains(directory.store) == true)
    }
    #expect(try Directories.names(in: directory.path) == [])
    refusal(.notFound) { _ = try Store.open(at: "\(directory.path)/none/db") }
  }

  @Test func `an existing file is not replaced by createNew`() throws {
    try make()
    let before = try StoreDirectory.bytes(of: directory.store)
    refusal(.alreadyExists) { _ = try Store.open(at: directory.store, mode: .createNew) }
    #expect(try StoreDirectory.bytes(of: directory.store) == before)
  }

  @Test func `a directory, an empty file and a foreign file are refused and left alone`() throws {
    for mode in [Store.OpenMode.openOrCreate, .openExisting, .readOnly] {
      refusal(.isDirectory) { _ = try Store.open(at: directory.path, mode: mode) }
    }
    let empty = try directory.write([], to: "empty")
    refusal(.emptyFile) { _ = try Store.open(at: empty) }
    refusal(.emptyFile) { _ = try Store.open(at: empty, mode: .readOnly) }
    for (name, bytes) in [("short", Array("hello".utf8)), ("long", [UInt8](repeating: 32, count: 50_000))] {
      let foreign = try directory.write(bytes, to: name)
      refusal(.notADatabase) { _ = try Store.open(at: foreign) }
      refusal(.notADatabase) { _ = try Store.open(at: foreign, mode: .readOnly) }
      #expect(try StoreDirectory.bytes(of: foreign) == bytes)
    }
    #expect(try StoreDirectory.bytes(of: empty) == [])
    var magic = try directory.write(Array("LATEWOOD, said the forester".utf8), to: "magic")
    refusal(.damaged) { _ = try Store.open(at: magic) }
    magic = "\(magic)/under"
    for mode in [Store.OpenMode.openOrCreate, .openExisting, .createNew] {
      #expect(throws: StoreError.self) { _ = try Store.open(at: magic, mode: mode) }
    }
    // There is no lock file next to any of them, or next to their directory.
    #expect(try Directories.names(in: directory.path).sorted() == ["empty", "long", "magic", "short"])
    #expect(try !FileVolume().exists(directory.path + ".lock"))
  }

  @Test func `a later format version and an unknown feature are reported as such`() throws {
    try make()
    let sound = try StoreDirectory.bytes(of: directory.store)
    for (index, offset) in [FileHeader.Offset.formatVersion, FileHeader.Offset.requiredFeatures].enumerated()
    {
      var bytes = sound
      for copy in 0..<2 {
        bytes[copy * 4096 + offset] += 1
        bytes.withUnsafeMutableBytes { bytes in
          let header = UnsafeMutableRawBufferPointer(rebasing: bytes[copy * 4096..<copy * 4096 + 4096])
          let checksum = XXH64.hash(
            UnsafeRawBufferPointer(rebasing: header[..<FileHeader.Offset.checksum]), seed: 0)
          header.storeBytes(
            of: checksum.littleEndian, toByteOffset: FileHeader.Offset.checksum, as: UInt64.self)
        }
      }
      let newer = try directory.write(bytes, to: "newer\(index)")
      let error = refusal(.tooNew) { _ = try Store.open(at: newer) }
      #expect(error?.advice.contains("newer") == true)
      refusal(.tooNew) { _ = try Store.open(at: newer, mode: .readOnly) }
      #expect(try StoreDirectory.bytes(of: newer) == bytes)
    }
  }

  @Test func `one store of this process writes a file, under any name`() throws {
    try make()
    let link = "\(directory.path)/link"
    try Directories.makeSymbolicLink(link, to: directory.store)
    let store = try Store.open(at: directory.store)
    refusal(.lockedByThisProcess) { _ = try Store.open(at: directory.store) }
    refusal(.lockedByThisProcess) { _ = try Store.open(at: link) }
    let reader = try Store.open(at: link, mode: .readOnly)
    try store.put("k", "new", in: store.keyspace("a"))
    try reader.refresh()
    #expect(try reader.get("k", in: reader.keyspace("a")) == Array("new".utf8))
    try store.close()
    try Store.open(at: link).close()
    try reader.close()
  }

  @Test func `the lock of another process is respected, and released when that process ends`() throws {
    try make()
    let flock = "/usr/bin/flock"
    guard try FileVolume().exists(flock) else {
      print("OpeningTests: the other process is not tried, because there is no \(flock)")
      return
    }
    let lock = directory.store + ".lock"
    let child = try ChildProcess(
      flock, arguments: ["--no-fork", "-x", lock, "/bin/sh", "-c", "echo locked; exec sleep 30"])
    guard try child.output.readLine() == Array("locked".utf8) else {
      print("OpeningTests: the other process is not tried, because this \(flock) does not know --no-fork")
      return
    }
    let error = refusal(.lockedByOtherProcess) { _ = try Store.open(at: directory.store) }
    #expect(error?.advice.contains("read-only") == true)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    #expect(try reader.get("k", in: reader.keyspace("a")) == Array("v".utf8))
    try reader.close()
    try child.kill()
    _ = try child.wait()
    try Store.open(at: directory.store).close()
  }

  @Test func `missing permissions are reported`() throws {
    if CurrentProcess.isPrivileged {
      print("OpeningTests: permissions are not tried, because they do not bind this user")
      return
    }
    try make()
    try Directories.setPermissions(directory.store, 0o400)
    refusal(.permissionDenied) { _ = try Store.open(at: directory.store) }
    try Store.open(at: directory.store, mode: .readOnly).close()
    try Directories.setPermissions(directory.store, 0o000)
    refusal(.permissionDenied) { _ = try Store.open(at: directory.store, mode: .readOnly) }
    try FileVolume().remove(directory.store + ".lock")
    refusal(.permissionDenied) { _ = try Store.open(at: directory.store) }
    #expect(try !FileVolume().exists(directory.store + ".lock"))
    try Directories.setPermissions(directory.store, 0o600)
    try Store.open(at: directory.store).close()
  }

  @Test func `read-only media are reported`() throws {
    // The only read-only file system that needs no mounting.
    let path = "/sys/kernel/latewood.latewood"
    guard try FileVolume().exists("/sys/kernel") else {
      print("OpeningTests: read-only media are not tried, because there is no /sys")
      return
    }
    do {
      _ = try Store.open(at: path)
      Issue.record("a file was made in /sys")
    } catch {
      #expect([.readOnlyMedia, .permissionDenied].contains(error.storeCode), "\(error)")
    }
  }

  @Test func `a store that is never closed keeps its writes, and so does a copy of its file`() throws {
    var options = Store.Options()
    options.durability = .relaxed
    options.checkpointsInBackground = false
    let store = try Store.open(at: directory.store, options: options)
    let space = try store.keyspace("a")
    for index in 0..<500 {
      try store.put("key\(index)", "value\(index)", in: space)
      if index % 200 == 50 { try store.checkpoint() }
    }
    let copy = try directory.copy(of: directory.store, as: "copy")
    let other = try Store.open(at: copy)
    #expect(try other.count(in: other.keyspace("a")) == 500)
    #expect(other.recovery.replayedTransactions == 49)
    #expect(try other.verify().faults == [])
    try other.close()
    try store.close()
    let again = try Store.open(at: directory.store, mode: .openExisting)
    #expect(again.recovery.tornTail == nil)
    #expect(again.recovery.replayedTransactions == 0)
    #expect(try again.count(in: again.keyspace("a")) == 500)
    try again.close()
  }

  @Test func `a damaged old checkpoint only ends the history`() throws {
    let store = try Store.open(at: directory.store)
    let fruit = try store.keyspace("fruit")
    for number in 0..<4 {
      try store.put("apple", "\(number)", in: fruit)
      try store.checkpoint()
    }
    let history = try store.history()
    try #require(history.count == 4)
    try store.close()
    var bytes = try StoreDirectory.bytes(of: directory.store)
    bytes[Int(history[2].offset) + 70] ^= 1
    let path = try directory.write(bytes, to: "damaged")
    let damaged = try Store.open(at: path, mode: .readOnly)
    #expect(try damaged.history().map(\.offset) == history.prefix(2).map(\.offset))
    #expect(try damaged.get("apple", in: damaged.keyspace("fruit")) == Array("3".utf8))
  }

  @Test func `exhausted generation numbers are refused where a new one is needed, without waiting`() throws {
    try make()
    var bytes = try StoreDirectory.bytes(of: directory.store)
    bytes.withUnsafeMutableBytes { bytes in
      guard let base = bytes.baseAddress else { return }
      let file = UnsafeRawPointer(base)
      // The newest root slot with the greatest possible generation, in slot 1 because that is odd.
      let newest = file.u64(8200) > file.u64(12296) ? 8192 : 12288
      (base + 12288).copyMemory(from: file + newest, byteCount: 64)
      base.set(UInt64.max, at: 12296)
      base.set(XXH64.hash(file + 12296, 56, seed: XXH64.hash(file + 16, 16, seed: 0)), at: 12288)
    }
    let path = try directory.write(bytes, to: "used-up")
    let store = try Store.open(at: path)
    let space = try #require(try store.existingKeyspace("a"))
    #expect(try store.get("k", in: space) == Array("v".utf8))
    try store.put("l", "w", in: space)
    refusal(.fileTooLarge) { try store.checkpoint() }
    #expect(try store.verify().faults == [])
    refusal(.fileTooLarge) { try store.close() }
  }
}
