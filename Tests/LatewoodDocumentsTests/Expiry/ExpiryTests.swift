import Dispatch
import LatewoodDocuments
import LatewoodSimulation
import LatewoodStore
import Testing

@Suite struct ExpiryTests {
  @Test func `documents expire in their second, and not before`() throws {
    let clock = TestClock()
    let store = try DocumentStore.inMemory(options: clock.options())
    let documents = try store.defaultCollection()
    let first = try store.save("a", "one")
    try store.save("b", "one")
    try store.write { writer in
      try writer.setExpiry(of: "a", in: documents, clock.now + 10)
      try writer.setExpiry(of: "b", in: documents, clock.now + 20)
    }
    #expect(try store.reads(documents).expiry(of: "a") == clock.now + 10)
    refusal(.notFound) { try store.write { try $0.setExpiry(of: "c", in: documents, 1) } }
    try store.save("a", "two", over: first.revision)
    #expect(try store.reads(documents).expiry(of: "a") == clock.now + 10, "an edit keeps it")
    #expect(try store.reads(documents).expiring(before: clock.now + 20, limit: 9).map(\.id) == ["a"])
    clock.advance(9)
    #expect(try store.purgeExpired() == 0)
    try store.expectSound()
    clock.advance(1)
    #expect(try store.purgeExpired() == 1)
    #expect(try store.body("a") == nil)
    try store.write { try $0.setExpiry(of: "b", in: documents, nil) }
    clock.advance(100)
    #expect(try store.purgeExpired() == 0)
    try store.expectSound()
  }

  @Test func `documents that expired while the database was closed are gone when it opens`() throws {
    let directory = try TemporaryDirectory()
    let clock = TestClock()
    let store = try DocumentStore.open(at: directory.database, options: clock.options())
    let documents = try store.defaultCollection()
    try store.write { writer in
      for number in 0..<2500 {
        try writer.save("\(number)", in: documents, body: [1], parent: nil)
        try writer.setExpiry(of: "\(number)", in: documents, clock.now + 5)
      }
    }
    try store.close()
    clock.advance(10)
    let again = try DocumentStore.open(at: directory.database, options: clock.options())
    #expect(try again.reads(again.defaultCollection()).count() == 0)
    try again.expectSound()
    try again.close()
  }

  @Test func `a timer purges documents while the database is open`() throws {
    let store = try DocumentStore.inMemory()
    let documents = try store.defaultCollection()
    let gone = DispatchSemaphore(value: 0)
    let token = try store.addListener(on: DispatchQueue(label: "test")) { event in
      if event.entries.contains(where: { $0.reason == .expired }) { gone.signal() }
    }
    try store.save("a", "one")
    let now = DocumentOptions().environment.now() / 1_000_000
    try store.write { try $0.setExpiry(of: "a", in: documents, now + 1) }
    #expect(gone.wait(timeout: Patience.deadline) == .success)
    #expect(try store.body("a") == nil)
    token.cancel()
  }
}
