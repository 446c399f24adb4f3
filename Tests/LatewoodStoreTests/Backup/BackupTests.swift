import LatewoodDevice
import LatewoodModels
import LatewoodSimulation
import LatewoodStore
import Testing

/// Incremental backups.
@Suite struct BackupTests {
  private let directory: StoreDirectory
  private var options = Store.Options()
  private var target: String { directory.path + "/backup" }

  init() throws {
    directory = try StoreDirectory()
    options.compaction = .manual
    options.durability = .relaxed
  }

  private func fill(_ store: Store, _ keys: Range<Int>, byte: UInt8 = 1) throws {
    let fruit = try store.keyspace("fruit")
    try store.write { transaction in
      for key in keys {
        let value = [UInt8](repeating: byte, count: key % 40 == 0 ? 5000 : 100)
        try transaction.put("key \(key)", value, in: fruit)
      }
    }
  }

  private func expectBackup(of store: Store, at path: String? = nil) throws {
    let backup = try Store.open(at: path ?? target, mode: .readOnly)
    #expect(try backup.content() == store.content())
    #expect(try backup.verify().faults == [])
    #expect(try backup.statistics().transaction == store.statistics().transaction)
    try backup.close()
  }

  @Test func `a second backup copies only the changes`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, 0..<20_000)
    let first = try store.backup(to: target)
    #expect(!first.isIncremental)
    #expect(first.bytesCopied > 2_000_000)
    try expectBackup(of: store)

    try fill(store, 0..<10, byte: 2)
    let second = try store.backup(to: target)
    #expect(second.isIncremental)
    #expect(second.bytesCopied > 0 && second.bytesCopied < first.bytesCopied / 10)
    try expectBackup(of: store)

    let third = try store.backup(to: target)
    #expect(third.isIncremental && third.bytesCopied == 0)
    #expect(third.transaction == second.transaction && third.fileSize == second.fileSize)
    try expectBackup(of: store)
  }

  @Test func `a backup stays correct over many checkpoints, punched holes and reopenings`() throws {
    var store = try Store.open(at: directory.store, options: options)
    var punched: UInt64 = 0
    for round in 0..<12 {
      try fill(store, 0..<3000, byte: UInt8(round))
      if round % 3 == 1 { try store.checkpoint() }
      if round % 4 == 2 {
        punched += try store.statistics().punchedBytes
        try store.close()
        store = try Store.open(at: directory.store, options: options)
      }
      let report = try store.backup(to: target)
      #expect(report.isIncremental == (round > 0))
      try expectBackup(of: store)
    }
    #expect(punched > 0)
  }

  @Test func `the first backup after a compaction is a full copy, and the next is incremental`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, 0..<3000)
    try store.backup(to: target)
    try fill(store, 0..<3000, byte: 2)
    try store.compact()
    #expect(try store.backup(to: target).isIncremental == false)
    try expectBackup(of: store)
    try fill(store, 0..<10, byte: 3)
    #expect(try store.backup(to: target).isIncremental)
    try expectBackup(of: store)
  }

  @Test func `commits continue during a backup`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, 0..<3000)
    for round in 1..<4 {
      let before = try store.content()
      var isFirst = true
      try store.backup(to: target) { _ in
        guard isFirst else { return }
        isFirst = false
        do {
          try fill(store, 0..<3000, byte: UInt8(round))
          try store.checkpoint()
        } catch { Issue.record(error) }
      }
      let backup = try Store.open(at: target, mode: .readOnly)
      #expect(try backup.content() == before)
      #expect(try backup.verify().isSound)
    }
  }

  @Test func `a reader of a backup sees the next one when it refreshes`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, 0..<300)
    try store.backup(to: target)
    let reader = try Store.open(at: target, mode: .readOnly)
    try fill(store, 0..<300, byte: 2)
    #expect(try reader.refresh() == false)
    try store.backup(to: target)
    #expect(try reader.refresh())
    #expect(try reader.content() == store.content())
  }

  @Test func `a target that is not a backup of this database is left untouched`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, 0..<300)
    try store.backup(to: target)

    let other = try Store.open(at: directory.path + "/other", options: options)
    try fill(other, 0..<10)
    refusal(.alreadyExists) { try other.backup(to: target) }
    refusal(.lockedByThisProcess) { try other.backup(to: directory.store) }
    try store.copy(to: directory.path + "/copy")
    refusal(.alreadyExists) { try store.backup(to: directory.path + "/copy") }
    let text = try directory.write(Array("a text".utf8), to: "text")
    refusal(.alreadyExists) { try store.backup(to: text) }
    #expect(try StoreDirectory.bytes(of: text) == Array("a text".utf8))

    let written = try Store.open(at: target, options: options)
    refusal(.lockedByThisProcess) { try store.backup(to: target) }
    try written.put("of", "its own", in: written.keyspace("fruit"))
    let content = try written.content()
    #expect(try written.verify().isSound)
    try written.close()
    refusal(.alreadyExists) { try store.backup(to: target) }
    try store.compact()
    refusal(.alreadyExists) { try store.backup(to: target) }
    let again = try Store.open(at: target, options: options)
    #expect(try again.content() == content)
    #expect(try again.verify().isSound)
  }

  @Test func `a backup that cannot be made is refused with the right code`() throws {
    let store = try Store.open(at: directory.store, options: options)
    try fill(store, 0..<3000)
    let reader = try Store.open(at: directory.store, mode: .readOnly)
    refusal(.readOnly) { try reader.backup(to: target) }
    refusal(.invalidRange) { try store.write { _ in _ = try store.backup(to: target) } }
    refusal(.cancelled) { try store.backup(to: target) { _ in store.cancelCompaction() } }
    #expect(try Directories.names(in: directory.path).contains { $0.hasPrefix("backup.back") } == false)
    refusal(.notFound) { try store.backup(to: directory.path + "/nowhere/backup") }
    try store.close()
    refusal(.closed) { try store.backup(to: target) }
  }

  @Test func `damage is not copied into a backup`() throws {
    let volume = SimulatedVolume()
    let store = try CrashScript.open(volume.process(1), wholeCheckpoints: 4)
    let keyspace = try store.keyspace("a")
    for number in 0..<200 { try store.put("key\(number)", "value \(number)", in: keyspace) }
    try store.checkpoint()
    let root = try #require(try store.history().first).offset
    try volume.corrupt(CrashScript.path, at: Int(root) - 1000, xor: 1)
    refusal(.damaged) { try store.backup(to: "backup") }
    #expect(try !volume.exists("backup"))
  }
}
