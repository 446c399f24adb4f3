import LatewoodBytes
import LatewoodConcurrency
import LatewoodSimulation
import LatewoodTerminal
import Testing

@testable import LatewoodDevice

/// Opens that wait for the writer lock.
@Suite struct LockWaitTests {
  private let directory: TemporaryDirectory
  private var path: String { directory("db") }
  private var patient: LockWait { LockWait(.seconds(Patience.seconds)) }

  init() throws { directory = try TemporaryDirectory() }

  /// Starts a thread that waits for the lock, notes its number and unlocks. Returns once it waits.
  private func startWaiting(
    _ number: Int, _ wait: LockWait, _ order: Guarded<[Int]>, _ failures: Guarded<[StorageError]>
  ) {
    let path = path
    #expect(
      BackgroundThread.start {
        do throws(StorageError) {
          let lock = try FileVolume().lockForWriting(path, waiting: wait)
          order.withLock { $0.append(number) }
          lock.unlock()
        } catch {
          failures.withLock { $0.append(error) }
        }
      })
    #expect(Patience.wait { wait.isBlocked })
    // Blocked, and in the queue: an open joins it a moment after it is marked.
    #expect(Patience.wait { LockQueue.hasWaiters(for: path + ".lock") })
    Monitor.sleep(milliseconds: 20)
  }

  @Test func `opens of one process get the lock in the order in which they came`() throws {
    let (order, failures) = (Guarded<[Int]>([]), Guarded<[StorageError]>([]))
    let lock = try FileVolume().lockForWriting(path)
    for number in 0..<5 { startWaiting(number, patient, order, failures) }
    #expect(order.withLock { $0.isEmpty })
    lock.unlock()
    #expect(Patience.wait { order.withLock { $0.count } == 5 })
    #expect(order.withLock { $0 } == Array(0..<5))
    #expect(failures.withLock { $0.isEmpty })
    #expect(Patience.wait { !LockQueue.hasWaiters(for: path + ".lock") })
    // The helper is gone, and leaves nothing locked.
    try FileVolume().lockForWriting(path, waiting: patient).unlock()
  }

  @Test func `an open without patience is refused immediately`() throws {
    let lock = try FileVolume().lockForWriting(path)
    for wait in [LockWait.none, LockWait(.zero), LockWait(.seconds(-1))] {
      let fault = fault { _ = try FileVolume().lockForWriting(path, waiting: wait) }
      #expect(fault?.kind == .lockedByThisProcess)
      #expect(fault?.reason.contains("still") == false)
    }
    lock.unlock()
  }

  @Test func `when the time is over, the error tells how long it has waited`() throws {
    let lock = try FileVolume().lockForWriting(path)
    let fault = fault { _ = try FileVolume().lockForWriting(path, waiting: LockWait(.milliseconds(20))) }
    #expect(fault?.kind == .lockedByThisProcess)
    #expect(fault?.reason.hasSuffix("it was still open after 0.02 seconds") == true, "\(fault?.reason ?? "")")
    lock.unlock()
    // The helper of the open that gave up gets the lock, and releases it.
    try FileVolume().lockForWriting(path, waiting: patient).unlock()
    #expect(Patience.wait { (try? WriterLock.isHeld(path: path + ".lock")) == false })
  }

  @Test func `an abandoned open does not keep later ones from the lock`() throws {
    for _ in 0..<200 {
      let lock = try FileVolume().lockForWriting(path)
      let fault = fault { _ = try FileVolume().lockForWriting(path, waiting: LockWait(.milliseconds(1))) }
      #expect(fault?.kind == .lockedByThisProcess)
      lock.unlock()
      // The helper of the abandoned open may have the lock for a moment.
      try FileVolume().lockForWriting(path).unlock()
    }
  }

  @Test func `an open that is cancelled stops waiting, and those behind it do not`() throws {
    let (order, failures) = (Guarded<[Int]>([]), Guarded<[StorageError]>([]))
    let lock = try FileVolume().lockForWriting(path)
    let wait = patient
    startWaiting(1, wait, order, failures)
    startWaiting(2, patient, order, failures)
    wait.cancel()
    #expect(Patience.wait { failures.withLock { $0.first?.kind } == .cancelled })
    lock.unlock()
    #expect(Patience.wait { order.withLock { $0 } == [2] })
  }

  @Test func `a lock file that is removed while an open waits is made anew`() throws {
    let (order, failures) = (Guarded<[Int]>([]), Guarded<[StorageError]>([]))
    let lock = try FileVolume().lockForWriting(path)
    startWaiting(1, patient, order, failures)
    lock.remove()
    #expect(Patience.wait { order.withLock { $0 } == [1] })
    #expect(try FileVolume().exists(path + ".lock"))
  }

  @Test(.enabled(if: LockTests.flock != nil))
  func `an open waits for another process, which its error names`() throws {
    let program = try #require(LockTests.flock)
    let other = try ChildProcess(
      program, arguments: ["--no-fork", path + ".lock", "sh", "-c", "echo $$; exec sleep 600"])
    let process = String(decoding: try #require(try other.output.readLine()), as: UTF8.self)
    let refused = fault { _ = try FileVolume().lockForWriting(path, waiting: LockWait(.milliseconds(1))) }
    #expect(refused?.kind == .lockedByOtherProcess)
    #if os(Linux)
      #expect(refused?.reason.hasPrefix("process \(process) has") == true, "\(refused?.reason ?? "")")
    #endif
    let (order, failures) = (Guarded<[Int]>([]), Guarded<[StorageError]>([]))
    startWaiting(1, patient, order, failures)
    try other.kill()
    #expect(try other.wait() == nil)
    #expect(Patience.wait { order.withLock { $0 } == [1] })
    #expect(failures.withLock { $0.isEmpty })
  }

  @Test(.enabled(if: LockTests.flock != nil))
  func `another process gets its turn though this one takes the lock again and again`() throws {
    let program = try #require(LockTests.flock)
    let hasTurn = Guarded(false)
    let path = path
    let lock = Guarded<any FileLock>(try FileVolume().lockForWriting(path))
    let other = Guarded(try ChildProcess(program, arguments: [path + ".lock", "echo", "mine"]))
    inThreads([
      {
        let line = other.withLock { try? $0.output.readLine() }
        hasTurn.withLock { $0 = line != nil }
      },
      {
        for _ in 0..<10_000_000 where !hasTurn.withLock({ $0 }) {
          lock.withLock { lock in
            lock.unlock()
            do { lock = try FileVolume().lockForWriting(path, waiting: LockWait(.seconds(60))) } catch {}
          }
        }
        lock.withLock { $0.unlock() }
      },
    ])
    #expect(hasTurn.withLock { $0 })
    #expect(try other.withLock { try $0.wait() } == 0)
  }

  @Test func `the holder of a lock is found in the list of the system`() {
    let list = """
      1: POSIX  ADVISORY  WRITE 11 fe:00:77 0 EOF
      2: FLOCK  ADVISORY  READ  12 fe:00:77 0 EOF
      3: FLOCK  ADVISORY  WRITE 13 fe:00:78 0 EOF
      4: FLOCK  ADVISORY  WRITE 14 fe:01:77 0 EOF
      4: -> FLOCK  ADVISORY  WRITE 15 fe:00:77 0 EOF
      5: FLOCK  ADVISORY  WRITE 16 fe:00:77 0 EOF
      6: FLOCK  ADVISORY  WRITE -1 fe:00:79 0 EOF
      7: FLOCK  ADVISORY  WRITE 17 00:2f:80 0 EOF
      8: FLOCK

      """
    func holder(_ major: UInt64, _ minor: UInt64, _ inode: UInt64) -> Int? {
      let device = (major & 0xFFF) << 8 | minor & 0xFF | (minor & ~0xFF) << 12
      return LockHolder.process(of: FileIdentity(device: device, inode: inode), in: Array(list.utf8))
    }
    #expect(holder(0xFE, 0, 77) == 16)
    #expect(holder(0xFE, 0, 78) == 13)
    #expect(holder(0xFE, 1, 77) == 14)
    // Processes outside of the container have no id in it.
    #expect(holder(0xFE, 0, 79) == nil)
    // Btrfs shows files under other minor numbers than their locks.
    #expect(holder(0, 0x31, 80) == 17)
    #expect(holder(8, 0x2F, 80) == nil)
    #expect(holder(0xFE, 0, 81) == nil)
  }
}
