import LatewoodConcurrency
import Testing

@Suite struct LazyReferenceTests {
  private final class Object: Sendable {
    private let ended: Guarded<Int>
    init(_ ended: Guarded<Int>) { self.ended = ended }
    deinit { ended.withLock { $0 += 1 } }
  }

  private final class Holder: Sendable {
    let reference = LazyReference<Object>()
  }

  @Test func `the first object stored is kept, and is released with its holder`() {
    let ended = Guarded(0)
    do {
      let holder = Holder()
      #expect(holder.reference.value == nil)
      let first = holder.reference.storeIfNil(Object(ended))
      #expect(holder.reference.storeIfNil(Object(ended)) === first && holder.reference.value === first)
      #expect(ended.withLock { $0 } == 1)
    }
    #expect(ended.withLock { $0 } == 2)
  }

  @Test func `threads that store an object at the same time all get the same one`() async {
    let ended = Guarded(0)
    for _ in 0..<50 {
      let holder = Holder()
      let seen = await withTaskGroup(of: ObjectIdentifier.self) { group in
        for _ in 0..<8 { group.addTask { ObjectIdentifier(holder.reference.storeIfNil(Object(ended))) } }
        return await group.reduce(into: Set()) { $0.insert($1) }
      }
      #expect(seen.count == 1)
    }
    #expect(ended.withLock { $0 } == 50 * 8)
  }
}
