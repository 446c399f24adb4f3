import LatewoodConcurrency
import LatewoodSimulation
import Synchronization
import Testing

@Suite("Monitor")
struct MonitorTests {
  /// State that only the monitor protects.
  final class Shared: @unchecked Sendable {
    let monitor = Monitor()
    var count = 0
  }

  @Test func `a lock excludes other threads`() {
    let shared = Shared()
    let count: @Sendable () -> Void = {
      for _ in 0..<20_000 { shared.monitor.withLock { shared.count += 1 } }
    }
    inThreads([count, count, count, count])
    #expect(shared.count == 80_000)
  }

  @Test func `a lock that is held cannot be taken again`() {
    let monitor = Monitor()
    #expect(monitor.tryLock())
    #expect(!monitor.tryLock())
    monitor.unlock()
    #expect(monitor.tryLock())
    monitor.unlock()
  }

  @Test func `a broadcast wakes every waiting thread`() {
    let shared = Shared()
    let watch: @Sendable () -> Void = {
      shared.monitor.withLock {
        while shared.count != 2 { #expect(shared.monitor.wait(milliseconds: 60_000)) }
      }
    }
    inThreads([
      {
        shared.monitor.withLock {
          while shared.count == 0 { shared.monitor.wait() }
          shared.count = 2
          shared.monitor.broadcast()
        }
      },
      watch, watch,
      {
        shared.monitor.withLock {
          shared.count = 1
          shared.monitor.broadcast()
        }
      },
    ])
    #expect(shared.count == 2)
  }

  @Test func `a signal wakes one waiting thread`() {
    let shared = Shared()
    inThreads([
      { shared.monitor.withLock { while shared.count == 0 { shared.monitor.wait() } } },
      {
        shared.monitor.withLock {
          shared.count = 1
          shared.monitor.signal()
        }
      },
    ])
  }

  @Test func `a timed wait ends when its limit has passed, and not before`() {
    let monitor = Monitor()
    let start = MonotonicClock.nanoseconds
    monitor.withLock {
      while monitor.wait(milliseconds: 20) {}
    }
    #expect(MonotonicClock.nanoseconds - start >= 20_000_000)
  }

  @Test func `an error from the body is rethrown and the lock is released`() {
    struct Failure: Error {}
    let monitor = Monitor()
    #expect(throws: Failure.self) { try monitor.withLock { throw Failure() } }
    #expect(monitor.tryLock())
    monitor.unlock()
  }

  @Test func `the system environment has a real clock and real randomness`() {
    #expect(Environment.system.now() > 1_700_000_000_000_000)
    #expect(Environment.system.random() != Environment.system.random())
  }
}
