import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodFile
import LatewoodStore
import Testing

/// The errors of a failing disk before, during and after a compaction.
@Suite struct FailingDiskTests {
  private let directory: StoreDirectory
  private let fails = Guarded(false)

  init() throws { directory = try StoreDirectory() }

  /// Opens a store whose syncs fail while `fails` is true.
  private func open() throws -> Store {
    var options = Store.Options()
    options.compaction = .manual
    var calls = FileCalls.system
    calls.sync = { [fails] descriptor throws(ErrorNumber) in
      if fails.withLock({ $0 }) { throw .noSpace }
      try FileCalls.system.sync(descriptor)
    }
    return try Store.open(
      at: directory.store, on: FileVolume(calls: calls), mode: .openOrCreate, options: options,
      environment: .system)
  }

  @Test func `after a compaction, errors name the database and not the temporary file`() throws {
    let store = try open()
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    try store.compact()
    fails.withLock { $0 = true }
    let error = refusal(.inputOutput) { try store.put("k", "w", in: space) }
    #expect(error?.path?.hasSuffix("db.latewood") == true, "\(error?.path ?? "no path")")
    #expect(error?.systemError == ErrorNumber.noSpace.code)
    try? store.close()
  }

  @Test func `a failure in the work before a compaction keeps its code`() throws {
    let store = try open()
    let space = try store.keyspace("a")
    try store.put("k", "v", in: space)
    store.setCompactionPreparation(
      reclaimable: { 0 }, prepare: { try store.put("k", "without what was not needed", in: space) })
    fails.withLock { $0 = true }
    let error = refusal(.inputOutput) { try store.compact() }
    #expect(error?.message.hasPrefix("the work before the compaction failed: ") == true)
    #expect(error?.systemError == ErrorNumber.noSpace.code)
    refusal(.poisoned) { try store.compact() }
    try? store.close()
  }
}
