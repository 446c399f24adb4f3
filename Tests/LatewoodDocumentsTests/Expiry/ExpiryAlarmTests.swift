import LatewoodConcurrency
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

/// The alarm that purges documents, with a clock and timers that the test controls.
@Suite struct ExpiryAlarmTests {
  /// Timers that fire on the command of the test.
  private final class Timers: Sendable {
    private struct Timer {
      let wait: UInt64
      let action: @Sendable () -> Void
      weak var owner: AnyObject?
    }
    private final class Owner: Sendable {}

    private let waiting = Guarded<[Timer]>([])
    /// The waits of the timers that somebody still wants to fire.
    var waits: [UInt64] { waiting.withLock { $0.filter { $0.owner != nil }.map(\.wait) } }

    func add(_ wait: UInt64, _ action: @escaping @Sendable () -> Void) -> any AnyObject & Sendable {
      let owner = Owner()
      waiting.withLock { $0.append(Timer(wait: wait, action: action, owner: owner)) }
      return owner
    }

    func goOff() {
      let due = waiting.withLock { waiting in
        defer { waiting = [] }
        return waiting
      }
      for timer in due where timer.owner != nil { timer.action() }
    }
  }

  private let clock = TestClock()
  private let timers = Timers()

  private var options: DocumentOptions {
    var options = clock.options()
    options.expiresByItself = true
    let timers = timers
    options.wake = { timers.add($0, $1) }
    return options
  }

  @Test func `a clock jump or a sleeping machine delays an expiry by at most a minute`() throws {
    let store = try DocumentStore.inMemory(options: options)
    let documents = try store.defaultCollection()
    try store.save("a", "one")
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 30 * 86_400) }
    let longest: UInt64 = 60_000_000
    #expect(timers.waits == [longest])
    timers.goOff()
    #expect(timers.waits == [longest], "it looks again, and nothing is due")
    clock.advance(30 * 86_400 - 5)
    timers.goOff()
    #expect(timers.waits == [5_000_000])
    #expect(try store.store.count(in: store.store.keyspace("documents/_default")) == 1, "not before its time")
    clock.advance(5)
    timers.goOff()
    #expect(try store.store.count(in: store.store.keyspace("documents/_default")) == 0)
    #expect(timers.waits == [])
    try store.expectSound()
  }

  @Test func `a closed database leaves no timer, and an earlier alarm replaces that of a later one`() throws {
    let store = try DocumentStore.inMemory(options: options)
    let documents = try store.defaultCollection()
    try store.save("a", "one")
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 20) }
    #expect(timers.waits == [20_000_000])
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 10) }
    #expect(timers.waits == [10_000_000])
    try store.close()
    #expect(timers.waits == [])
  }

  @Test func `a failed purge is retried`() throws {
    let disk = SimulatedVolume(seed: 1)
    var options = options
    options.store.checkpointsInBackground = false
    let store = try DocumentStore.open(at: "db", on: disk.process(1), mode: .createNew, options: options)
    let documents = try store.defaultCollection()
    try store.save("a", "one")
    try store.write { try $0.setExpiry(of: "a", in: documents, clock.now + 10) }
    clock.advance(10)
    for call in disk.callCount..<(disk.callCount + 50) { disk.inject(.outOfSpace(), atCall: call) }
    timers.goOff()
    #expect(timers.waits.count == 1 && timers.waits.allSatisfy { $0 >= 1_000_000 }, "not at once")
    disk.clearFaults()
    timers.goOff()
    #expect(try store.store.count(in: store.store.keyspace("documents/_default")) == 0)
    try store.close()
  }
}
