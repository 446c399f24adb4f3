import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTerminal
import Synchronization
import Testing

@testable import LatewoodDevice

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Locks between processes.
@Suite("Locks on the real file system")
struct LockTests {
  let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  static let flock = ["/usr/bin/flock", "/opt/homebrew/bin/flock"].first { path in
    (try? FileVolume().exists(path)) ?? false
  }

  @Test(.enabled(if: flock != nil))
  func `a lock held by another process is respected until that process ends`() throws {
    let program = try #require(LockTests.flock)
    let volume = FileVolume()
    // No fork, so that the killed process is the one that holds the lock.
    let other = try ChildProcess(
      program, arguments: ["--no-fork", directory("db.lock"), "sh", "-c", "echo locked; exec sleep 60"])
    #expect(try other.output.readLine() == Array("locked".utf8))
    let fault = fault { _ = try volume.lockForWriting(directory("db")) }
    #expect(fault?.kind == .lockedByOtherProcess)
    try other.kill()
    #expect(try other.wait() == nil)
    try volume.lockForWriting(directory("db")).unlock()
  }

  @Test func `a lock file that is removed before it is locked is not taken for the lock`() throws {
    let path = directory("db.lock")
    let first = Guarded<WriterLock?>(try WriterLock(path: path, of: directory("db")))
    let second = try WriterLock(path: path, of: directory("db")) {
      first.withLock { lock in
        lock?.remove()
        lock = nil
      }
    }
    let fault = fault { _ = try WriterLock(path: path, of: directory("db")) }
    #expect(fault?.kind == .lockedByThisProcess)
    second.unlock()
    try WriterLock(path: path, of: directory("db")).unlock()
  }

  @Test func `one holder at a time has the lock, even while the lock file is repeatedly removed`() throws {
    let volume = FileVolume()
    _ = try volume.open(directory("db"), newFile)
    let path = directory("db")
    let holders = Atomic<Int>(0)
    let taken = Atomic<Int>(0)
    let together = Atomic<Int>(0)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<400 {
        guard let lock = try? volume.lockForWriting(path) else { continue }
        taken.add(1, ordering: .relaxed)
        if holders.add(1, ordering: .sequentiallyConsistent).oldValue != 0 {
          together.add(1, ordering: .relaxed)
        }
        for _ in 0..<20 { Monitor.yieldProcessor() }
        holders.subtract(1, ordering: .sequentiallyConsistent)
        if (round + thread) % 2 == 0 { lock.remove() } else { lock.unlock() }
      }
    }
    #expect(together.load(ordering: .relaxed) == 0)
    #expect(taken.load(ordering: .relaxed) > 0)
    try volume.lockForWriting(path).remove()
    #expect(try !volume.exists(path + ".lock"))
  }

  @Test func `the lock is found through a symbolic link`() throws {
    let volume = FileVolume()
    _ = try volume.open(directory("db"), newFile)
    try Directories.make(directory("elsewhere"))
    try Directories.makeSymbolicLink(directory("elsewhere/link"), to: directory("db"))
    let lock = try volume.lockForWriting(directory("db"))
    #expect(
      fault { _ = try volume.lockForWriting(directory("elsewhere/link")) }?.kind == .lockedByThisProcess)
    lock.unlock()
    try volume.lockForWriting(directory("elsewhere/link")).unlock()
  }

  @Test func `a lock without references is released`() throws {
    _ = try FileVolume().lockForWriting(directory("db"))
    try FileVolume().lockForWriting(directory("db")).unlock()
  }

  @Test func `a symbolic link in place of the lock file is refused`() throws {
    try Directories.makeSymbolicLink(directory("db.lock"), to: directory("victim"))
    // At first the path is empty. Then there is a file, which is not opened either.
    for leadsToFile in [false, true] {
      if leadsToFile { try FileVolume().open(directory("victim"), newFile).close() }
      let fault = fault { _ = try FileVolume().lockForWriting(directory("db")) }
      #expect(fault?.kind == .invalidName)
      #expect(try FileVolume().exists(directory("victim")) == leadsToFile)
    }
  }

  @Test func `a private file belongs to its user alone from its creation`() throws {
    let number = try SystemCalls.openPrivate(directory("history"))
    defer { SystemCalls.closeFile(number) }
    #expect(try SystemCalls.status(number).permissions == 0o600)
  }

  @Test func `the lock file is private, so other users cannot lock the owner out`() throws {
    let lock = try FileVolume().lockForWriting(directory("db"))
    #expect(try FileVolume().open(directory("db.lock"), .readOnly).permissions() == 0o600)
    lock.unlock()
  }

  @Test func `a forked child does not own the lock, and cannot release it for its parent`() throws {
    // The importer hides fork, because a child of a process with threads can do little. It can
    // check a lock.
    typealias Fork = @convention(c) () -> Int32
    let symbol = try #require(dlsym(dlopen(nil, RTLD_NOW), "fork"))
    let fork = unsafeBitCast(symbol, to: Fork.self)
    let lock = try FileVolume().lockForWriting(directory("db"))
    let child = fork()
    if child == 0 {
      let isOwned = lock.isOwnedByThisProcess
      lock.unlock()
      _exit(isOwned ? 1 : 42)
    }
    #expect(child > 0)
    var status: Int32 = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    #expect((status >> 8) & 0xFF == 42)
    #expect(lock.isOwnedByThisProcess)
    if let program = LockTests.flock {
      let other = try ChildProcess(program, arguments: ["-n", directory("db.lock"), "true"])
      #expect(try other.wait() == 1, "the lock was free")
    }
    lock.unlock()
    if let program = LockTests.flock {
      let other = try ChildProcess(program, arguments: ["-n", directory("db.lock"), "true"])
      #expect(try other.wait() == 0, "the lock was still taken")
    }
  }

  @Test(.enabled(if: flock != nil)) func `closing releases a reader's lock, though the mapping lives on`()
    throws
  {
    let program = try #require(LockTests.flock)
    let device = try FileVolume().open(directory("db"), newFile)
    let space = try device.map(capacity: 1 << 20)
    try device.lockForReading()
    let held = try ChildProcess(program, arguments: ["-n", "-x", directory("db"), "true"])
    #expect(try held.wait() == 1)
    let shared = try ChildProcess(program, arguments: ["-n", "-s", directory("db"), "true"])
    #expect(try shared.wait() == 0)
    device.close()
    let free = try ChildProcess(program, arguments: ["-n", "-x", directory("db"), "true"])
    #expect(try free.wait() == 0)
    withExtendedLifetime(space) {}
  }
}
