import LatewoodConcurrency
import Testing

@testable import LatewoodStore

#if DEBUG
  /// The locks that an operation takes when no other thread is there.
  @Suite struct LockCountTests {
    private let directory: StoreDirectory
    private let store: Store
    private let space: Keyspace

    init() throws {
      directory = try StoreDirectory()
      var options = Store.Options()
      options.durability = .relaxed
      store = try Store.open(at: directory.store, options: options)
      space = try store.keyspace("a")
      for index in 0..<100 { try store.put("key\(index)", "0", in: space) }
    }

    /// Counts the locks of each of many calls.
    private func counts(_ body: (Int) throws -> Void) rethrows -> [UInt] {
      try (0..<500).map { index in try LockCount.of { try body(index) } }.sorted()
    }

    @Test func `a relaxed commit takes at most five locks`() throws {
      let single = try counts { try store.put("key\($0)", "1", in: space) }
      // Some commits also free the replaced nodes of the write buffer.
      #expect(single[450] <= 5, "\(single)")
      #expect(single[499] <= 6)
      let many = try counts { count in
        try store.write { for index in 0..<10 { try $0.put("key\(count + index)", "1", in: space) } }
      }
      #expect(many[450] <= 5, "\(many)")
    }

    @Test func `a get takes no lock, in a store, a snapshot or a transaction`() throws {
      let snapshot = try store.snapshot()
      try store.write { transaction in
        try transaction.put("key1", "1", in: space)
        #expect(try counts { _ = try transaction.get("key\($0)", in: space) }.last == 0)
      }
      #expect(try counts { _ = try store.get("key\($0)", in: space) }.last == 0)
      #expect(try counts { _ = try snapshot.get("key\($0)", in: space) }.last == 0)
      snapshot.close()
    }
  }
#endif
