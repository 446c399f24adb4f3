import Dispatch
import LatewoodConcurrency
import LatewoodSimulation
import Synchronization
import Testing

/// Objects that are replaced while they are read.
@Suite struct ReaderRegistryTests {
  /// Collects the closures that a registry schedules, and runs them on request.
  private final class Later: Sendable {
    private let bodies = Guarded<[(milliseconds: Int, body: @Sendable () -> Void)]>([])

    func add(_ milliseconds: Int, _ body: @escaping @Sendable () -> Void) {
      bodies.withLock { $0.append((milliseconds, body)) }
    }

    /// The requested pauses.
    var pauses: [Int] { bodies.withLock { $0.map(\.milliseconds) } }

    func run() {
      let all = bodies.withLock { bodies in
        defer { bodies = [] }
        return bodies
      }
      for (_, body) in all { body() }
    }
  }

  private final class Thing: Sendable {
    let gone: Guarded<Int>
    init(_ gone: Guarded<Int>) { self.gone = gone }
    deinit { gone.withLock { $0 += 1 } }
  }

  private let later = Later()
  private let gone = Guarded(0)
  private var goneCount: Int { gone.withLock { $0 } }

  private func makeRegistry() -> ReaderRegistry {
    ReaderRegistry { [later] milliseconds, body in later.add(milliseconds, body) }
  }

  private func thing() -> Unmanaged<Thing> { Unmanaged.passRetained(Thing(gone)) }

  @Test func `an object without readers is released immediately`() {
    let registry = makeRegistry()
    registry.enter().leave()
    registry.retire(thing())
    registry.retire { [gone] in gone.withLock { $0 += 10 } }
    #expect(goneCount == 11)
    #expect(registry.waitingCount == 0)
    #expect(later.pauses == [])
  }

  @Test func `a retired object is kept for earlier readers, but not for later ones`() {
    let registry = makeRegistry()
    let before = registry.enter()
    registry.retire(thing())
    registry.retire { [gone] in gone.withLock { $0 += 10 } }
    let after = registry.enter()
    registry.collect()
    #expect(goneCount == 0)
    #expect(registry.waitingCount == 2)
    before.leave()
    registry.collect()
    #expect(goneCount == 11)
    after.leave()
  }

  @Test func `objects still in use are checked again at growing intervals until they are released`() {
    let registry = makeRegistry()
    let reader = registry.enter()
    registry.retire(thing())
    registry.retire(thing())
    #expect(later.pauses == [1])
    var asked: [Int] = []
    for _ in 0..<8 {
      asked += later.pauses
      later.run()
    }
    #expect(asked == [1, 2, 4, 8, 16, 32, 64, 64])
    reader.leave()
    later.run()
    #expect(goneCount == 2)
    #expect(later.pauses == [])
    let next = registry.enter()
    registry.retire(thing())
    #expect(later.pauses == [1])
    next.leave()
    later.run()
    #expect(goneCount == 3)
  }

  @Test func `a reader that declares the object it uses keeps only that one, and only once`() {
    let registry = makeRegistry()
    let object = thing()
    let reader = registry.enter()
    reader.uses(object.toOpaque())
    for _ in 0..<1000 { registry.retire(thing()) }
    #expect(goneCount == 1000)
    for _ in 0..<1000 { registry.retire(object.retain()) }
    registry.retire(object)
    #expect(registry.waitingCount == 1)
    #expect(goneCount == 1000)
    // A closure may free anything, so it waits for all readers.
    registry.retire { [gone] in gone.withLock { $0 += 10_000 } }
    registry.collect()
    #expect(goneCount == 1000)
    reader.leave()
    registry.collect()
    #expect(goneCount == 11_001)
  }

  @Test(arguments: [1, 2, 63, 64, 65, 200])
  func `nested reads each keep the objects that existed when they began`(_ count: Int) {
    let registry = makeRegistry()
    var readers: [ReaderRegistry.Ticket] = []
    for _ in 0..<count {
      readers.append(registry.enter())
      registry.retire(thing())
    }
    #expect(goneCount == 0)
    // The last reader to begin leaves first, like nested calls, and the first one keeps everything.
    while readers.count > 1 {
      readers.removeLast().leave()
      registry.collect()
      #expect(goneCount == 0)
    }
    readers.removeLast().leave()
    registry.collect()
    #expect(goneCount == count)
    // No reader is left in a slot or in the crowd.
    registry.retire(thing())
    #expect(goneCount == count + 1)
  }

  @Test(arguments: [2, 64, 66])
  func `when the earliest reader leaves, only the objects it alone kept are released`(_ count: Int) {
    let registry = makeRegistry()
    var readers: [ReaderRegistry.Ticket] = []
    for _ in 0..<count {
      readers.append(registry.enter())
      registry.retire(thing())
    }
    for left in 1...count {
      readers.removeFirst().leave()
      registry.collect()
      #expect(goneCount == left)
    }
  }

  @Test func `a deallocated registry releases the objects that were still waiting`() {
    var registry: ReaderRegistry? = makeRegistry()
    _ = registry?.enter()
    registry?.retire(thing())
    registry?.retire { [gone] in gone.withLock { $0 += 10 } }
    #expect(goneCount == 0)
    registry = nil
    #expect(goneCount == 11)
    later.run()
    #expect(goneCount == 11)
  }

  /// The address of four words that are equal until they are freed.
  private final class Cell: Sendable {
    let address: Atomic<UInt>
    init() { address = Atomic(Cell.make(1)) }

    static func make(_ number: UInt64) -> UInt {
      let words = UnsafeMutablePointer<UInt64>.allocate(capacity: 4)
      words.initialize(repeating: number, count: 4)
      return UInt(bitPattern: words)
    }

    static func words(_ address: UInt) -> [UInt64] {
      UnsafeMutablePointer<UInt64>(bitPattern: address).map { words in (0..<4).map { words[$0] } } ?? []
    }

    static func free(_ address: UInt) {
      guard let words = UnsafeMutablePointer<UInt64>(bitPattern: address) else { return }
      words.update(repeating: .max, count: 4)
      words.deallocate()
    }
  }

  private final class Flag: Sendable {
    let value = Atomic<Bool>(false)
  }

  @Test func `threads that read and write at full speed never see freed memory`() {
    let registry = ReaderRegistry { milliseconds, body in
      DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds), execute: body)
    }
    let cell = Cell()
    let isOver = Flag()
    let wrong = Guarded<[UInt64]>([])
    let read: @Sendable () -> Void = {
      var last: UInt64 = 0
      while !isOver.value.load(ordering: .relaxed) {
        let ticket = registry.enter()
        let address = cell.address.load(ordering: .sequentiallyConsistent)
        let inner = registry.enter()
        let seen = Cell.words(address)
        inner.leave()
        ticket.leave()
        // A reader never sees older words than it saw before, either.
        if Set(seen).count > 1 || seen[0] == .max || seen[0] < last { wrong.withLock { $0.append(seen[0]) } }
        last = seen[0]
      }
    }
    let write: @Sendable () -> Void = {
      for number in 2..<5000 as Range<UInt64> {
        let old = cell.address.exchange(Cell.make(number), ordering: .sequentiallyConsistent)
        registry.retire { Cell.free(old) }
      }
      isOver.value.store(true, ordering: .relaxed)
    }
    inThreads([read, read, read, write])
    registry.collect()
    #expect(wrong.withLock { $0 } == [])
    #expect(registry.waitingCount == 0)
    Cell.free(cell.address.load(ordering: .acquiring))
  }
}
