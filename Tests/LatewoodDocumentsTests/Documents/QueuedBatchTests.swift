import LatewoodConcurrency
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import LatewoodTestSupport
import Testing

/// Batches that do not block their callers.
@Suite struct QueuedBatchTests {
  private let volume = SimulatedVolume(seed: 3)
  private let store: DocumentStore
  private let documents: CollectionHandle

  init() throws {
    var options = TestClock().options()
    options.store.checkpointsInBackground = false
    options.store.durability = .synchronous
    store = try DocumentStore.open(at: "db", on: volume, mode: .openOrCreate, options: options)
    documents = try store.defaultCollection()
  }

  /// Runs tasks that all wait for the first of them, which continues once the others have begun.
  private func runTogether(
    _ count: Int, _ body: @escaping @Sendable (Int, DocumentWriter) throws -> Void
  ) async -> [Int: any Error] {
    let started = Guarded(0)
    let store = store
    return await withTaskGroup(of: (Int, (any Error)?).self) { group in
      for index in 0..<count {
        group.addTask {
          started.withLock { $0 += 1 }
          do {
            try await store.write { writer in
              if index == 0 { Patience.wait { started.withLock { $0 } == count } }
              try body(index, writer)
            }
            return (index, nil)
          } catch { return (index, error) }
        }
      }
      return await group.reduce(into: [:]) { failures, ended in failures[ended.0] = ended.1 }
    }
  }

  @Test func `64 tasks that save at the same time share a few syncs, but not a batch`() async throws {
    let before = volume.trace.count { $0.kind == .sync }
    let documents = documents
    let failures = await runTogether(64) { index, writer in
      try writer.save("\(index)", in: documents, body: bytes("body \(index)"), parent: nil)
      if index % 8 == 7 { throw OnPurpose() }
    }
    #expect(failures.keys.sorted() == Array(stride(from: 7, to: 64, by: 8)))
    #expect(failures.values.allSatisfy { $0 is OnPurpose })
    // One thread, and a few for batches that were already starting. With a thread for each batch
    // there would be 56 or more.
    #expect(volume.trace.count { $0.kind == .sync } - before <= 20)
    for index in 0..<64 {
      #expect(try store.body("\(index)") == (index % 8 == 7 ? nil : "body \(index)"))
    }
    try store.expectSound()
    // Everything acknowledged is durable.
    let disk = SimulatedVolume()
    try disk.place(volume.durableBytes(of: "db"), at: "db")
    let found = try DocumentStore.open(
      at: "db", on: disk, mode: .openExisting, options: TestClock().options())
    #expect(try found.reads(found.defaultCollection()).count() == 56)
    try found.close()
    try store.close()
  }

  @Test func `observers see queued and blocking batches in commit order`() async throws {
    let heard = Guarded<[UInt64]>([])
    let store = store
    let token = try store.addListener(on: .init(label: "observer")) { event in
      heard.withLock { $0 += event.entries.compactMap(\.sequence) }
    }
    let documents = documents
    inParallel(1) { _ in
      for number in 0..<20 { try store.save("blocking \(number)", "x", in: documents) }
    }
    let failures = await runTogether(40) { index, writer in
      try writer.save("\(index)", in: documents, body: bytes("x"), parent: nil)
      if index % 5 == 1 { throw OnPurpose() }
    }
    #expect(failures.count == 8)
    Patience.wait { heard.withLock { $0.count } >= 52 }
    #expect(heard.withLock { $0 } == Array(1...52))
    token.cancel()
    try store.close()
  }

  @Test func `work deferred to the end of a batch runs once, before its caller continues`() async throws {
    let ends = Guarded<[Bool]>([])
    let store = store
    try await store.write { writer in
      store.atEndOfBatch { isCommitted in ends.withLock { $0.append(isCommitted) } }
      // A nested batch joins the outer one.
      try store.write { _ in
        store.atEndOfBatch { isCommitted in ends.withLock { $0.append(isCommitted) } }
      }
    }
    #expect(ends.withLock { $0 } == [true, true])
    await #expect(throws: OnPurpose.self) {
      try await store.write { _ -> Void in
        store.atEndOfBatch { isCommitted in ends.withLock { $0.append(isCommitted) } }
        refusal(.busy) { try store.close() }
        throw OnPurpose()
      }
    }
    #expect(ends.withLock { $0 } == [true, true, false])
    try store.close()
  }

  @Test func `a failed sync is reported to all batches that needed it, and none is visible`() async throws {
    let documents = documents
    try store.save("before", "x", in: documents)
    try store.sync()
    volume.beforeAccess = { [volume] access in
      guard access.kind == .sync else { return }
      volume.inject(.inputOutput(), atCall: volume.callCount)
    }
    let failures = await runTogether(16) { index, writer in
      try writer.save("\(index)", in: documents, body: bytes("x"), parent: nil)
    }
    volume.beforeAccess = nil
    #expect(failures.count == 16)
    #expect(failures.values.allSatisfy { ($0 as? DatabaseError)?.store != nil })
    #expect(try store.reads(documents).count() == 1)
  }

  @Test func `batches that wait when the database closes are committed or get an error`() async throws {
    let (store, documents) = (store, documents)
    let tasks = (0..<40).map { index in
      Task { () -> Bool in
        do {
          try await store.write { writer in
            _ = try writer.save("\(index)", in: documents, body: bytes("x"), parent: nil)
          }
          return true
        } catch let error as DatabaseError {
          if error.code != .notOpen { throw error }
          return false
        }
      }
    }
    try store.close()
    var kept = 0
    for task in tasks where try await task.value { kept += 1 }
    let again = try DocumentStore.open(
      at: "db", on: volume, mode: .openExisting, options: TestClock().options())
    #expect(try again.reads(again.defaultCollection()).count() == kept)
    try again.expectSound()
    try again.close()
  }
}
