import LatewoodConcurrency
import LatewoodDevice
import LatewoodStore
import LatewoodTestSupport
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// One writer at a time, regardless of events around the files and the process.
@Suite struct SingleWriterTests {
  private let directory: StoreDirectory
  private var options = Store.Options()

  init() throws {
    directory = try StoreDirectory()
    options.checkpointsInBackground = false
  }

  #if os(Linux)
    @Test func `a database has one writer even without its lock file, before and after a compaction`() throws
    {
      let store = try Store.open(at: directory.store, options: options)
      try store.put("k", "v", in: store.keyspace("a"))
      try FileVolume().remove(directory.store + ".lock")
      refusal(.lockedByOtherProcess) { _ = try Store.open(at: directory.store, options: options) }
      try store.compact()
      try FileVolume().remove(directory.store + ".lock")
      refusal(.lockedByOtherProcess) { _ = try Store.open(at: directory.store, options: options) }
      // The refused open has not removed anything, and readers can open the file.
      let reader = try Store.open(at: directory.store, mode: .readOnly)
      try reader.close()
      try store.put("k", "w", in: store.keyspace("a"))
      try store.close()
      let again = try Store.open(at: directory.store, options: options)
      #expect(try again.get("k", in: again.keyspace("a")) == Array("w".utf8))
      #expect(try again.verify().faults == [])
      try again.close()
    }

    /// Runs a closure in a forked child.
    ///
    /// - Returns: the exit status of the child: 42 if the closure returned true.
    private func statusOfChild(_ body: () -> Bool) throws -> Int32 {
      typealias Fork = @convention(c) () -> Int32
      let symbol = try #require(dlsym(dlopen(nil, RTLD_NOW), "fork"))
      let fork = unsafeBitCast(symbol, to: Fork.self)
      // The child has only one thread, and a lock held by another thread here stays locked there.
      // Then an alarm ends the child, and the next attempt may succeed.
      var status: Int32 = SIGALRM
      for _ in 0..<10 where status & 0x7F == SIGALRM {
        let child = fork()
        if child == 0 {
          alarm(2)
          _exit(body() ? 42 : 1)
        }
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
      }
      return (status >> 8) & 0xFF
    }

    @Test func `a forked child cannot write, and does not harm its parent`() throws {
      let store = try Store.open(at: directory.store, options: options)
      let space = try store.keyspace("a")
      try store.put("k", "parent", in: space)
      let status = try statusOfChild {
        var code: StoreError.Code?
        do { try store.put("k", "child", in: space) } catch { code = error.storeCode }
        return code == .lockedByOtherProcess
      }
      #expect(status == 42)
      try store.put("l", "parent", in: space)
      #expect(try store.get("k", in: space) == Array("parent".utf8))
      refusal(.lockedByThisProcess) { _ = try Store.open(at: directory.store) }
      #expect(try store.verify().faults == [])
      try store.close()
      let again = try Store.open(at: directory.store, options: options)
      #expect(try again.count(in: again.keyspace("a")) == 2)
      try again.close()
    }

    /// Its slots would have the nonces that the next units of the parent have.
    @Test func `a forked child cannot make a backup`() throws {
      var options = options
      options.encryptionKey = .raw([UInt8](repeating: 1, count: 32))
      let store = try Store.open(at: directory.store, options: options)
      try store.put("k", "parent", in: store.keyspace("a"))
      try store.checkpoint()
      let path = directory.path + "/backup"
      let status = try statusOfChild {
        var code: StoreError.Code?
        do { try store.backup(to: path) } catch { code = error.storeCode }
        return code == .lockedByOtherProcess
      }
      #expect(status == 42)
      #expect(try !Store.exists(at: path))
      try store.backup(to: path)
      try store.close()
    }
  #endif

  @Test func `at most one of several concurrent opens succeeds, and the others find a lock`() throws {
    let codes = Guarded<[StoreError.Code]>([])
    for round in 0..<20 {
      let path = "\(directory.path)/\(round)"
      let opened = Guarded<[Store]>([])
      inParallel(4) { _ in
        do {
          let store = try Store.open(at: path, options: options)
          opened.withLock { $0.append(store) }
        } catch {
          if let code = error.storeCode { codes.withLock { $0.append(code) } }
        }
      }
      let stores = opened.withLock { $0 }
      #expect(stores.count <= 1)
      for store in stores {
        #expect(try store.verify().faults == [])
        try store.close()
      }
      try Store.open(at: path, mode: .openOrCreate, options: options).close()
    }
    #expect(Set(codes.withLock { $0 }).isSubset(of: [.lockedByThisProcess, .lockedByOtherProcess]))
  }
}
