import Dispatch
import Foundation
import Latewood
import LatewoodConcurrency
import LatewoodSimulation
import Testing

@Suite struct ManyListenersTests {
  @Test func `thousands of listeners share a few threads, and each is told in order`() throws {
    let database = try Database.inMemory()
    let collection = try database.createCollection("a")
    let count = 2000
    let saves = 3
    let threads = Guarded<Set<UInt>>([])
    let orders = Guarded<[[String]]>(Array(repeating: [], count: count))
    let told = DispatchSemaphore(value: 0)
    var tokens: [ListenerToken] = []
    for number in 0..<count {
      tokens.append(
        try collection.addListener { change in
          _ = threads.withLock { $0.insert(Monitor.currentThread) }
          orders.withLock { $0[number] += change.entries.map(\.id) }
          told.signal()
        })
    }
    let ids = (0..<saves).map { "d\($0)" }
    for id in ids { try collection.save(MutableDocument(id: id, ["n": 1])) }
    for _ in 0..<count * saves { #expect(told.wait(timeout: Patience.deadline) == .success) }
    #expect(orders.withLock { $0.allSatisfy { $0 == ids } })
    // With a thread for each queue there are 255, as many as Dispatch starts.
    #expect(threads.withLock { $0.count } < 128)
    try database.close()
    withExtendedLifetime(tokens) {}
  }
}
