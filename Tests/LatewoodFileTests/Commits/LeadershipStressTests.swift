import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodFile

/// Many threads that need durability at the same time, while syncs and writes begin to fail and the
/// file is closed: every call ends, and no successful call has lost its commit.
@Suite struct LeadershipStressTests {
  private enum End: CaseIterable { case all, syncFails, writeFails, noSpace, closes }

  private func run(_ random: inout SeededRandom, _ end: End) throws -> Bool {
    let bench = try LogBench()
    let log = try bench.open().log
    let volume = bench.volume
    volume.plan.withLock { $0.syncMilliseconds = random.oneIn(2) ? 1 : 0 }
    // A thread that syncs again and again also wakes all others.
    let hasSyncs = random.oneIn(3)
    let group = DispatchGroup()
    let seed = random.next()
    let writing = Guarded(0)
    let stop = Guarded(false)
    let wrong = Guarded<[String]>([])
    for thread in 0..<6 {
      DispatchQueue(label: "thread \(thread)").async(group: group) {
        var random = SeededRandom(seed: seed &+ UInt64(thread))
        for number in 0..<20 where !stop.withLock({ $0 }) {
          do {
            if thread == 5, hasSyncs {
              try log.group.sync()
              continue
            }
            let position = try writing.withLock { _ in
              _ = try log.writer.beginTransaction()
              try log.put("\(thread) \(number)", [1])
              return try log.writer.commitTransaction()
            }
            let isDurable = !random.oneIn(4)
            try log.flush(through: position, durable: isDurable)
            if isDurable, log.syncedThrough < position.offset {
              wrong.withLock { $0.append("\(thread) \(number) is not durable") }
            }
          } catch {
            if end == .all { wrong.withLock { $0.append("\(error)") } }
            // After any failure except lack of space, all writing stops.
            stop.withLock { $0 = true }
          }
        }
      }
    }
    Monitor.sleep(milliseconds: UInt64(random.below(12)))
    switch end {
    case .all: break
    case .syncFails: volume.plan.withLock { $0.failsSync = true }
    case .writeFails: volume.plan.withLock { $0.writeFailure = .inputOutput }
    case .noSpace: volume.plan.withLock { $0.space = 0 }
    case .closes: log.close()
    }
    let isOver = group.wait(timeout: .now() + .seconds(Patience.seconds)) == .success
    #expect(isOver, "\(end): a thread waits for ever, \(random.replay)")
    #expect(wrong.withLock { $0 } == [], "\(end), \(random.replay)")
    if isOver { log.close() }
    return isOver
  }

  @Test func `every call ends, even if syncs and writes fail or the file is closed`() throws {
    var random = SeededRandom(seed: SeededRandom.seed())
    for _ in 0..<Effort.count(40, low: 8) {
      for end in End.allCases where try !run(&random, end) { return }
    }
  }
}
