import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import LatewoodStore
import Testing

/// Opens with `Options.lockTimeout`, while the database is open for writing.
@Suite struct LockTimeoutTests {
  private let directory: StoreDirectory

  init() throws { directory = try StoreDirectory() }

  private static func options(_ timeout: Duration) -> Store.Options {
    var options = Store.Options()
    options.lockTimeout = timeout
    return options
  }

  private let patient = LockTimeoutTests.options(.seconds(Patience.seconds))

  @Test func `stores that are opened together all write, one after the other`() throws {
    let failures = Guarded<[String]>([])
    let (path, options) = (directory.store, patient)
    inThreads(
      (0..<24).map { number in
        {
          do {
            let store = try Store.open(at: path, options: options)
            try store.put("key \(number)", "value", in: store.keyspace("fruit"))
            try store.close()
          } catch {
            failures.withLock { $0.append("\(error)") }
          }
        }
      })
    #expect(failures.withLock { $0 } == [])
    let store = try Store.open(at: path, mode: .readOnly)
    #expect(try store.count(in: store.keyspace("fruit")) == 24)
    try store.close()
  }

  @Test func `an open without a timeout is refused, and one with a short one too`() throws {
    let store = try Store.open(at: directory.store)
    refusal(.lockedByThisProcess) { _ = try Store.open(at: directory.store) }
    let error = refusal(.lockedByThisProcess) {
      _ = try Store.open(at: directory.store, options: Self.options(.milliseconds(30)))
    }
    #expect(error?.message.contains("0.03 seconds") == true)
    // Reading does not wait.
    try Store.open(at: directory.store, mode: .readOnly, options: patient).close()
    try store.close()
  }

  @Test func `a database that is deleted while an open waits is made anew, if the mode says so`() throws {
    for mode in [Store.OpenMode.openOrCreate, .openExisting] {
      let store = try Store.open(at: directory.store)
      try store.close()
      let lock = try FileVolume().lockForWriting(directory.store)
      let wait = LockWait(.seconds(Patience.seconds))
      let (path, volume) = (directory.store, FileVolume())
      let outcome = Guarded<Result<Store, any Error>?>(nil)
      #expect(
        BackgroundThread.start {
          let result = Result {
            try Store.open(
              at: path, on: volume, mode: mode, options: Store.Options(), environment: .system, waiting: wait)
          }
          outcome.withLock { $0 = result }
        })
      #expect(Patience.wait { wait.isBlocked })
      try volume.remove(path)
      lock.remove()
      #expect(Patience.wait { outcome.withLock { $0 != nil } })
      let result = try #require(outcome.withLock { $0 })
      if mode == .openOrCreate {
        try result.get().close()
        #expect(try Store.delete(at: path))
      } else {
        refusal(.notFound) { _ = try result.get() }
      }
      #expect(try directory.others() == [])
      #expect(try !volume.exists(path + ".lock"))
    }
  }

  @Test func `an open on a simulated disk waits too`() throws {
    let volume = SimulatedVolume()
    let wait = LockWait(.seconds(Patience.seconds))
    let store = try Store.open(
      at: "db", on: volume, mode: .openOrCreate, options: Store.Options(), environment: .system)
    let failures = Guarded<[String]>([])
    inThreads([
      {
        do {
          try Store.open(
            at: "db", on: volume.process(2), mode: .openExisting, options: Store.Options(),
            environment: .system, waiting: wait
          ).close()
        } catch {
          failures.withLock { $0.append("\(error)") }
        }
      },
      {
        Patience.wait { wait.isBlocked }
        do { try store.close() } catch { failures.withLock { $0.append("\(error)") } }
      },
    ])
    #expect(failures.withLock { $0 } == [])
  }
}
