import LatewoodDevice
import LatewoodTestSupport
import Synchronization
import Testing

@testable import LatewoodStore
@testable import LatewoodTree

/// Reads that register instead of holding a version: they write to no shared memory, and anything
/// may happen in the closures that they call.
@Suite struct ShortReadTests {
  private let directory: StoreDirectory
  private let store: Store
  private let space: Keyspace

  init() throws {
    directory = try StoreDirectory()
    var options = Store.Options()
    options.durability = .relaxed
    options.writeBufferBudget = 65_536
    options.nodeSize = 1024
    store = try Store.open(at: directory.store, options: options)
    space = try store.keyspace("a")
    try store.write { for index in 0..<200 { try $0.put("key\(1000 + index)", "0", in: space) } }
  }

  private static func bytes(_ span: RawSpan) -> [UInt8] { span.withUnsafeBytes { Array($0) } }
  private static func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

  @Test func `a read changes no shared reference counts, on the store or on a snapshot`() throws {
    let engine = store.engine
    let snapshot = try store.snapshot()
    let version = try snapshot.held()
    func counts() -> [UInt] { [engine as AnyObject, snapshot, version].map { _getRetainCount($0) } }
    // The same call without a read, to exclude the references of the closure itself.
    func call<R>(_ body: (RawSpan) throws -> R) rethrows -> R? {
      try [1, 2].withUnsafeBytes { try body($0.bytes) }
    }
    let before = call { _ in counts() }
    #expect(try store.withValue("key1007", in: space) { _ in counts() } == before)
    #expect(try snapshot.withValue("key1007", in: space) { _ in counts() } == before)
    withExtendedLifetime((engine, snapshot, version)) {}
  }

  @Test(arguments: [1, 2, 63, 64, 65, 130])
  func `nested reads all see their bytes`(_ depth: Int) throws {
    let snapshot = try store.snapshot()
    func nest(_ rest: Int) throws -> Int {
      if rest == 0 { return 0 }
      let key = "key\(1000 + rest % 200)"
      let inner = try (rest % 2 == 0).branch(
        { try store.withValue(key, in: space) { value in (try nest(rest - 1), Self.bytes(value)) } },
        { try snapshot.withValue(key, in: space) { value in (try nest(rest - 1), Self.bytes(value)) } })
      guard let (count, value) = inner, value == Self.bytes("0") else { throw Wrong("not the value") }
      return count + 1
    }
    #expect(try nest(depth) == depth)
    #expect(store.engine.readers.waitingCount == 0)
    try store.put("key1000", "1", in: space)
    #expect(store.engine.readers.waitingCount == 0)
  }

  @Test func `writes, checkpoints and closing inside a read do not block, and its bytes stay`() throws {
    let snapshot = try store.snapshot()
    let large = [UInt8](repeating: 7, count: 300_000)
    try store.put("large", large, in: space)
    try store.checkpoint()
    try store.withValue("large", in: space) { value in
      for round in 1...300 {
        try store.write { for index in 0..<20 { try $0.put("key\(1000 + index)", "\(round)", in: space) } }
        if round % 100 == 0 { try store.checkpoint() }
        #expect(try store.get("key1003", in: space) == Self.bytes("\(round)"))
      }
      try store.delete("large", in: space)
      try store.compact()
      try snapshot.withValue("key1003", in: space) { old in
        snapshot.close()
        refusal(.snapshotClosed) { _ = try snapshot.get("key1003", in: space) }
        try store.put("after", "1", in: space)
        #expect(Self.bytes(old) == Self.bytes("0"))
      }
      try store.close()
      refusal(.closed) { _ = try store.get("key1003", in: space) }
      #expect(Self.bytes(value) == large)
    }
    let again = try Store.open(at: directory.store)
    #expect(try again.get("key1003", in: again.keyspace("a")) == Self.bytes("300"))
    #expect(try again.get("large", in: again.keyspace("a")) == nil)
    #expect(try again.verify().faults == [])
    try again.close()
  }

  @Test func `a long read keeps its own state and no other`() throws {
    let live = try store.withValue("key1003", in: space) { value in
      for round in 1...500 {
        try store.put("key1003", "\(round)", in: space)
        try store.snapshot().close()
      }
      try store.checkpoint()
      #expect(Self.bytes(value) == Self.bytes("0"))
      return store.engine.versions.liveNumbers.count
    }
    // The version of the read, and the newest one.
    #expect(live == 2)
    store.engine.readers.collect()
    #expect(store.engine.versions.liveNumbers.count == 1)
    #expect(store.engine.readers.waitingCount == 0)
  }

  @Test func `an error thrown by a closure ends its read`() throws {
    struct Own: Error {}
    let snapshot = try store.snapshot()
    #expect(throws: Own.self) { try store.withValue("key1001", in: space) { _ in throw Own() } }
    #expect(throws: Own.self) { try snapshot.withValue("key1001", in: space) { _ in throw Own() } }
    refusal(.keyEmpty) { _ = try store.get("", in: space) }
    refusal(.keyEmpty) { _ = try snapshot.contains("", in: space) }
    refusal(.invalidName) { _ = try snapshot.existingKeyspace("") }
    try store.put("key1001", "1", in: space)
    snapshot.close()
    #expect(store.engine.readers.waitingCount == 0)
  }

  /// A key that reads from the store while its bytes are used, and supplies them twice.
  private struct CuriousKey: ByteSource {
    let store: Store
    let space: Keyspace
    func withBytes<R, E: Error>(_ body: (UnsafeRawBufferPointer) throws(E) -> R) throws(E) -> R {
      _ = try? store.get("key1002", in: space)
      _ = try "key1001".withBytes(body)
      return try "key1002".withBytes(body)
    }
  }

  @Test func `a key may read the store while its bytes are requested`() throws {
    let key = CuriousKey(store: store, space: space)
    #expect(try store.get(key, in: space) == Self.bytes("0"))
    #expect(try store.contains(key, in: space))
    var calls = 0
    try store.withValue(key, in: space) { _ in calls += 1 }
    #expect(calls == 2)
    try store.put("key1001", "1", in: space)
    #expect(store.engine.readers.waitingCount == 0)
  }

  @Test func `gets beside a writer see whole states in order, and leave no versions behind`() throws {
    let writing = Countdown(1)
    inParallel(5) { thread in
      if thread == 0 {
        defer { writing.oneIsDone() }
        for round in 1...400 {
          try store.write { for index in 0..<200 { try $0.put("key\(1000 + index)", "\(round)", in: space) } }
          if round % 100 == 0 { try store.checkpoint() }
        }
        return
      }
      var last = 0
      while !writing.isOver {
        for index in 0..<200 {
          let value = try store.get("key\(1000 + index)", in: space).flatMap {
            Int(String(decoding: $0, as: UTF8.self))
          }
          guard let value, value >= last else { throw Wrong("\(String(describing: value)) after \(last)") }
          last = value
        }
        let snapshot = try store.snapshot()
        let first = try snapshot.get("key1000", in: space)
        guard try snapshot.get("key1199", in: space) == first, try snapshot.last(in: space)?.value == first,
          try snapshot.first(in: space)?.value == first, try snapshot.count(in: space) == 200
        else { throw Wrong("two values in one state") }
      }
    }
    store.engine.readers.collect()
    #expect(store.engine.readers.waitingCount == 0)
    #expect(store.engine.versions.liveNumbers.count == 1)
    #expect(try store.verify().faults == [])
    try store.close()
  }
}

extension Bool {
  fileprivate func branch<R>(_ yes: () throws -> R, _ no: () throws -> R) rethrows -> R {
    self ? try yes() : try no()
  }
}
