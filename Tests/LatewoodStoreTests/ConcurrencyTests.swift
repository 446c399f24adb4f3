import Dispatch
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Synchronization
import Testing

/// Many threads on one store; run under the thread sanitizer as well.
@Suite struct ConcurrencyTests {
  private static func options() -> Store.Options {
    var options = Store.Options()
    options.writeBufferBudget = 65536
    options.nodeSize = 1024
    options.durability = .relaxed
    return options
  }

  @Test func `readers see whole transactions while one thread writes and checkpoints run`() throws {
    let store = try Store.inMemory(options: Self.options())
    let space = try store.keyspace("pairs")
    let rounds = 1500
    let isDone = Flag()
    let reads = Shared(0)
    let failure = Shared<String?>(nil)
    try store.write { transaction in
      for index in 0..<50 { try transaction.put("key\(index)", "0", in: space) }
    }
    inParallel(3) { thread in
      do {
        if thread == 0 {
          for round in 1...rounds {
            try store.write { transaction in
              for index in 0..<50 { try transaction.put("key\(index)", "\(round)", in: space) }
            }
          }
          // On a busy machine the other threads and the checkpoints start late.
          try Patience.wait {
            try reads.withLock { $0 } > 0 && store.statistics().checkpointTransaction > 0
          }
          isDone.set()
          return
        }
        while !isDone.isSet {
          let snapshot = try store.snapshot()
          var values: Set<[UInt8]> = []
          var count = 0
          try snapshot.forEach(in: space, reversed: thread == 2) { _, value in
            values.insert(value.withUnsafeBytes { Array($0) })
            count += 1
            return true
          }
          if values.count != 1 || count != 50 {
            failure.withLock { $0 = "\(count) keys, \(values.count) values" }
          }
          if try snapshot.count(in: space) != 50 { failure.withLock { $0 = "a wrong count" } }
          if try store.get("key7", in: space) == nil { failure.withLock { $0 = "a key is missing" } }
          reads.withLock { $0 += 1 }
        }
      } catch {
        failure.withLock { $0 = "\(error)" }
        isDone.set()
      }
    }
    #expect(failure.withLock { $0 } == nil)
    #expect(reads.withLock { $0 } > 0)
    #expect(try store.verify().faults == [])
    try store.close()
  }

  @Test func `eight threads that increment one counter lose no update`() throws {
    let store = try Store.inMemory(options: Self.options())
    let space = try store.keyspace("counter")
    let failure = Shared<String?>(nil)
    inParallel(8) { thread in
      do {
        for _ in 0..<200 {
          try store.write(durability: thread % 2 == 0 ? .synchronous : .relaxed) { transaction in
            let old =
              try transaction.get("n", in: space).flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
            try transaction.put("n", "\(old + 1)", in: space)
          }
        }
      } catch { failure.withLock { $0 = "\(error)" } }
    }
    #expect(failure.withLock { $0 } == nil)
    #expect(try store.get("n", in: space) == Array("1600".utf8))
    try store.close()
  }

  @Test func `all asynchronous writes are committed`() async throws {
    let store = try Store.inMemory(options: Self.options())
    let space = try store.keyspace("tasks")
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<100 {
        group.addTask { try await store.write { try $0.put("key\(index)", "x", in: space) } }
      }
      try await group.waitForAll()
    }
    #expect(try store.count(in: space) == 100)
    try store.close()
  }

  @Test func `threads that read during a close get a closed error`() throws {
    for _ in 0..<20 {
      let store = try Store.inMemory(options: Self.options())
      let space = try store.keyspace("a")
      try store.write { for index in 0..<200 { try $0.put("key\(index)", "value", in: space) } }
      let codes = Shared<[StoreError.Code]>([])
      inParallel(3) { thread in
        do {
          if thread == 0 { return try store.close() }
          let snapshot = try store.snapshot()
          while true {
            guard try snapshot.get("key1", in: space) != nil else { throw StoreErrorMissing() }
          }
        } catch {
          codes.withLock { $0.append((error as? StoreError)?.code ?? .damaged) }
        }
      }
      #expect(codes.withLock { $0 } == [.closed, .closed])
    }
  }

  private struct StoreErrorMissing: Error {}

  @Test func `a reader in another process keeps up with a writer at full speed`() throws {
    let disk = SimulatedVolume()
    func open(_ process: Int, _ mode: Store.OpenMode) throws -> Store {
      try Store.open(
        at: "db", on: disk.process(process), mode: mode, options: Self.options(), environment: .system)
    }
    let writer = try open(1, .openOrCreate)
    let space = try writer.keyspace("a")
    try writer.put("n", "0", in: space)
    let reader = try open(2, .readOnly)
    let isDone = Flag()
    let failure = Shared<String?>(nil)
    inParallel(2) { thread in
      do {
        if thread == 0 {
          defer { isDone.set() }
          for round in 1...3000 {
            try writer.write { transaction in
              try transaction.put("n", "\(round)", in: space)
              try transaction.put("key\(round % 97)", [UInt8](repeating: 1, count: 300), in: space)
            }
          }
          return
        }
        var last = 0
        while !isDone.isSet {
          try reader.refresh()
          guard let there = try reader.existingKeyspace("a"), let value = try reader.get("n", in: there),
            let number = Int(String(decoding: value, as: UTF8.self))
          else {
            failure.withLock { $0 = "nothing there" }
            return
          }
          if number < last { failure.withLock { $0 = "went back from \(last) to \(number)" } }
          last = number
        }
      } catch { failure.withLock { $0 = "\(error)" } }
    }
    #expect(failure.withLock { $0 } == nil)
    try reader.refresh()
    let there = try #require(try reader.existingKeyspace("a"))
    #expect(try reader.get("n", in: there) == Array("3000".utf8))
    try reader.close()
    try writer.close()
  }
}

private typealias Shared = Guarded

private final class Flag: Sendable {
  private let value = Atomic<Bool>(false)
  func set() { value.store(true, ordering: .releasing) }
  var isSet: Bool { value.load(ordering: .acquiring) }
}
