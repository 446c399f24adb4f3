import Dispatch
import Latewood
import LatewoodConcurrency
import LatewoodSimulation
import Testing

/// A caller's code, including `deinit`, never runs under a lock that its own calls would need.
@Suite struct DeadlockTests {
  /// Runs a closure when its last reference is released.
  private final class Farewell: Sendable {
    private let action: @Sendable () -> Void
    init(_ action: @escaping @Sendable () -> Void) { self.action = action }
    deinit { action() }
  }

  private let directory: TemporaryDirectory

  init() throws { directory = try TemporaryDirectory() }

  @Test func `a token can be released whose handler holds the last reference to the collection`() throws {
    try Watchdog.run("cancelling a listener") {
      for cancels in [true, false] {
        var token: ListenerToken? = try Self.tokenOfOnlyReference()
        if cancels { token?.cancel() }
        token = nil
      }
    }
  }

  private static func tokenOfOnlyReference() throws -> ListenerToken {
    let collection = try Database.inMemory().defaultCollection
    return try collection.addListener { _ in _ = collection.name }
  }

  @Test func `an object held by a handler may use the database in its deinit`() throws {
    let path = directory.path
    try Watchdog.run("a deinit that uses the database") {
      let database = try Database.open(at: path + "/a")
      let people = try database.defaultCollection
      let failures = Guarded<[String]>([])
      @Sendable func useAll() {
        do {
          try people.save(MutableDocument())
          try people.addListener { _ in }.cancel()
          try Database.open(at: path + "/b").close()
          try Database.open(at: path + "/a").close()
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      func listen() throws -> ListenerToken {
        let farewell = Farewell(useAll)
        return try people.addListener { _ in withExtendedLifetime(farewell) {} }
      }
      try listen().cancel()
      _ = try listen()
      #expect(failures.withLock { $0 } == [])
      #expect(try people.count == 2)
      try database.close()
    }
  }

  @Test func `a database can close while one of its batches closes another database`() throws {
    let path = directory.path
    try Watchdog.run("closing two databases at once") {
      let first = try Database.open(at: path + "/a")
      let second = try Database.open(at: path + "/b")
      let people = try first.defaultCollection
      let hasBegun = DispatchSemaphore(value: 0)
      let hasClosed = DispatchSemaphore(value: 0)
      BackgroundThread.run {
        hasBegun.wait()
        do { try first.close() } catch { Issue.record(error) }
        hasClosed.signal()
      }
      try first.inBatch {
        try people.save(MutableDocument(id: "a"))
        hasBegun.signal()
        #expect(Patience.wait { !Self.isOpen(first) })
        // By now the other thread probably waits for this batch.
        Monitor.sleep(milliseconds: 50)
        try second.close()
        try Database.open(at: path + "/c").close()
      }
      hasClosed.wait()
      #expect(try Database.open(at: path + "/a").defaultCollection.count == 1)
    }
  }

  private static func isOpen(_ database: Database) -> Bool {
    do { return try !database.collectionNames.isEmpty } catch { return false }
  }

  @Test func `a database can close whose listeners hold the last reference to another one`() throws {
    let path = directory.path
    try Watchdog.run("closing a database") {
      for _ in 0..<5 {
        let database = try Database.open(at: path + "/a")
        var other: Database? = try Database.open(at: path + "/b")
        let tokens = Guarded<[ListenerToken]>([])
        if let held = other {
          let token = try database.addListener { _ in _ = held.path }
          tokens.withLock { $0 = [token] }
        }
        other = nil
        // The first listener was notified of the end before all of these.
        for _ in 0..<500 {
          let token = try database.addListener { _ in }
          tokens.withLock { $0.append(token) }
        }
        try database.close()
        tokens.withLock { $0 = [] }
        #expect(Patience.wait { (try? Database.delete(at: path + "/b")) == true })
      }
    }
  }

  @Test func `a batch that opens a database which is closing gets an error`() throws {
    let file = directory.file
    try Watchdog.run("opening a database that is being closed") {
      let database = try Database.open(at: file)
      let hasBegun = DispatchSemaphore(value: 0)
      let hasClosed = DispatchSemaphore(value: 0)
      BackgroundThread.run {
        hasBegun.wait()
        do { try database.close() } catch { Issue.record(error) }
        hasClosed.signal()
      }
      try database.inBatch {
        hasBegun.signal()
        #expect(Patience.wait { !Self.isOpen(database) })
        Monitor.sleep(milliseconds: 50)
        refusal(.busy) { _ = try Database.open(at: file) }
        refusal(.busy) { _ = try Database.open(at: file, mode: .readOnly) }
      }
      hasClosed.wait()
      try Database.open(at: file).close()
    }
  }

  @Test func `a handle released in its own batch closes the file afterwards`() throws {
    let file = directory.file
    try Watchdog.run("the last handle that goes in a batch") {
      let database = try Database.open(at: file)
      let people = try database.defaultCollection
      let second = Guarded<Database?>(try Database.open(at: file))
      let isClosing = DispatchSemaphore(value: 0)
      let hasClosed = DispatchSemaphore(value: 0)
      BackgroundThread.run {
        isClosing.wait()
        do { try database.close() } catch { Issue.record(error) }
        hasClosed.signal()
      }
      try database.inBatch {
        try people.save(MutableDocument(id: "a"))
        isClosing.signal()
        hasClosed.wait()
        // The last handle, released in the batch that closing would have to wait for.
        let last = second.withLock { second in
          defer { second = nil }
          return second
        }
        withExtendedLifetime(last) {}
      }
      #expect(Patience.wait { (try? Database.delete(at: file)) == true })
    }
  }

  @Test func `closing in a batch is refused, and the handle stays open`() throws {
    let file = directory.file
    try Watchdog.run("closing in a batch") {
      let database = try Database.open(at: file)
      let people = try database.defaultCollection
      try database.inBatch {
        try people.save(MutableDocument(id: "a"))
        refusal(.busy) { try database.close() }
      }
      #expect(try people.count == 1)
      try database.compact { _ in refusal(.busy) { try database.close() } }
      #expect(try people.count == 1)
      try database.close()
    }
  }
}
