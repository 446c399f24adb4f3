import Synchronization

/// Who is reading right now, so that what was replaced is released only when nobody can have it any
/// more, and nobody ever waits.
///
/// A short read registers instead of counting references: it writes to a cache line that no other
/// thread writes to, where a lock or a reference count is one line for all threads. Whoever
/// replaces something hands it to `retire`; it is released there and then if nobody is registered
/// who could have it, and else by a later call of `retire` or `collect`, or by one that the
/// registry asks `later` for. Readers release nothing, and are waited for by nobody.
///
/// ```
/// line 0      epoch: counts what was retired, from 1 on | used: a bit for each slot that was ever taken | length of the crowd
/// line 1 ...  one slot each: epoch of its reader, or 0 | the object that is all it reads, or 0
/// ```
///
/// A reader                                          Whoever replaces an object
/// 1. reads the epoch `e`                            1. puts another in the object's place
/// 2. takes a slot: changes it from 0 to `e`         2. advances the epoch from `r`: the object is
///    retired in `r`
/// 3. finds an object by some atomic pointer         3. reads all slots
/// 4. says which, uses it
/// 5. clears the slot
///
/// Why that is safe. All of these steps but the reader's last two are sequentially consistent, so
/// that they have one order. A reader that found the object before it was replaced did 1 and 2
/// earlier still: `e` is not greater than `r`, and the scan, which comes later, sees its slot
/// taken, or taken and cleared. So the object is kept while a slot has an epoch from 1 to `r`.
/// Readers with a greater one found the pointer changed. A slot is cleared with release ordering
/// and scanned with acquire ordering: what a reader did happened before the release of what it
/// read, also if others took the slot after it, since to take it is a change of the value that it
/// left.
///
/// A reader that stays long (it may run a caller's closure) would so keep all that is retired
/// meanwhile. But it has said which object it uses, so every other object need not wait for it. A
/// scan that sees the epoch of one reader and the object of the next in the same slot errs in no
/// direction: the next one can only have come after the scan began, when the object could no longer
/// be found.
///
/// Invariants:
/// 1. What is retired can no longer be found by whoever registers from then on.
/// 2. A slot's object is 0 whenever its epoch is.
/// 3. Retired objects that are not released yet are at most as many as there are readers. Retired
///    closures wait for every reader that was there before.
///
/// A thread starts at the slot of its own number, and goes on to others if that is taken: by a read
/// of its own, in whose closure it reads again, or because more threads live than there are slots.
/// If all are taken it joins a crowd that a lock guards.
///
/// Thread safety: any thread. Nobody is registered when it goes.
// SAFETY: the memory is only accessed atomically and stays at one address from `init` to `deinit`.
package final class ReaderRegistry: @unchecked Sendable {
  /// A read that is registered, to be ended once.
  package struct Ticket: @unchecked Sendable {
    /// Nil of a reader in the crowd.
    fileprivate let slot: UnsafeMutableRawPointer?
    fileprivate let epoch: UInt64
    /// Nil of a reader that has a slot: a reference to the registry would be counted, and the count
    /// is one line for all threads.
    fileprivate let crowd: Unmanaged<ReaderRegistry>?

    /// Of a read that need not be registered.
    package static var none: Ticket { Ticket(slot: nil, epoch: 0, crowd: nil) }

    /// Says that the read uses nothing that could be retired but this object.
    @inline(__always) package func uses(_ object: UnsafeRawPointer) {
      guard let slot else { return }
      ReaderRegistry.word(slot, 1).pointee.store(UInt64(UInt(bitPattern: object)), ordering: .releasing)
    }

    /// Ends the read.
    @inline(__always) package func leave() {
      if let slot {
        ReaderRegistry.word(slot, 1).pointee.store(0, ordering: .relaxed)
        ReaderRegistry.word(slot, 0).pointee.store(0, ordering: .releasing)
      } else if let crowd {
        crowd.takeUnretainedValue().leaveCrowd(epoch)
      }
    }
  }

  private enum Retired {
    case object(Unmanaged<AnyObject>)
    case action(@Sendable () -> Void)

    var identity: UInt64 {
      switch self {
      case .object(let object): UInt64(UInt(bitPattern: object.toOpaque()))
      case .action: 0
      }
    }

    func release() {
      switch self {
      case .object(let object): object.release()
      case .action(let body): body()
      }
    }
  }

  private struct Waiting {
    var list: [(epoch: UInt64, what: Retired)] = []
    /// Milliseconds until the next try, and whether `later` has been asked for it.
    var pause = shortestPause
    var isAskedFor = false
  }

  /// Two lines of 64 bytes: processors fetch them in pairs.
  private static let stride = 128
  private static let slotCount = 64
  private static let shortestPause = 1
  private static let longestPause = 64

  private let memory: UnsafeMutableRawPointer
  /// The epochs of the readers that found no slot, and how many there are of each.
  private let crowd = Guarded<[UInt64: Int]>([:])
  private let waiting = Guarded(Waiting())
  private let isWaiting = Atomic<Bool>(false)
  private let later: @Sendable (_ milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> Void

  /// - Parameter later: runs a closure on another thread some milliseconds from now. It is asked,
  ///   once at a time, while something retired could not be released.
  package init(
    later: @escaping @Sendable (_ milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> Void
  ) {
    let length = (1 + ReaderRegistry.slotCount) * ReaderRegistry.stride
    memory = .allocate(byteCount: length, alignment: ReaderRegistry.stride)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: length)
    self.later = later
    epoch.pointee.store(1, ordering: .relaxed)
  }

  deinit {
    for (_, what) in waiting.withLock({ $0.list }) { what.release() }
    memory.deallocate()
  }

  // SAFETY: a zeroed word is a valid Atomic<UInt64>, and every line has two.
  @inline(__always) private static func word(
    _ line: UnsafeMutableRawPointer, _ index: Int
  ) -> UnsafeMutablePointer<Atomic<UInt64>> {
    (line + index &* 8).assumingMemoryBound(to: Atomic<UInt64>.self)
  }

  private typealias Word = UnsafeMutablePointer<Atomic<UInt64>>
  @inline(__always) private var epoch: Word { ReaderRegistry.word(memory, 0) }
  @inline(__always) private var used: Word { ReaderRegistry.word(memory, 1) }
  @inline(__always) private var crowdLength: Word { ReaderRegistry.word(memory, 2) }
  @inline(__always) private func slot(_ index: Int) -> UnsafeMutableRawPointer {
    memory + (1 &+ index) &* ReaderRegistry.stride
  }

  // MARK: Reading

  /// Registers a read of this thread. What it loads from atomic pointers after this, sequentially
  /// consistent, stays until the ticket's `leave`.
  @inline(__always) package func enter() -> Ticket {
    enter(at: SystemCalls.threadNumber & (ReaderRegistry.slotCount &- 1))
  }

  private func enter(at home: Int) -> Ticket {
    let now = epoch.pointee.load(ordering: .sequentiallyConsistent)
    if let ticket = take(home, now) { return ticket }
    for step in 1..<ReaderRegistry.slotCount {
      if let ticket = take((home &+ step) & (ReaderRegistry.slotCount &- 1), now) { return ticket }
    }
    return crowd.withLock { crowd in
      crowdLength.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent)
      let now = epoch.pointee.load(ordering: .sequentiallyConsistent)
      crowd[now, default: 0] += 1
      return Ticket(slot: nil, epoch: now, crowd: Unmanaged.passUnretained(self))
    }
  }

  @inline(__always) private func take(_ index: Int, _ now: UInt64) -> Ticket? {
    let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: index)
    if used.pointee.load(ordering: .sequentiallyConsistent) & bit == 0 {
      used.pointee.bitwiseOr(bit, ordering: .sequentiallyConsistent)
    }
    let slot = slot(index)
    let (isTaken, _) = ReaderRegistry.word(slot, 0).pointee.compareExchange(
      expected: 0, desired: now, ordering: .sequentiallyConsistent)
    return isTaken ? Ticket(slot: slot, epoch: now, crowd: nil) : nil
  }

  @inline(never) fileprivate func leaveCrowd(_ epoch: UInt64) {
    crowd.withLock { crowd in
      guard let count = crowd[epoch] else { return }
      crowd[epoch] = count > 1 ? count - 1 : nil
      crowdLength.pointee.wrappingSubtract(1, ordering: .releasing)
    }
  }

  // MARK: Retiring

  /// Takes over one reference to an object, and gives it up when nobody registered can have found
  /// the object.
  ///
  /// Nobody who registers from now on can find it by the way that this reference stood for.
  package func retire<Object: AnyObject>(_ object: Unmanaged<Object>) {
    retire(.object(Unmanaged<AnyObject>.fromOpaque(object.toOpaque())))
  }

  /// Calls a closure once, on this thread or another, when nobody registered can have found what it
  /// will free. It must not block.
  package func retire(_ body: @escaping @Sendable () -> Void) { retire(.action(body)) }

  private func retire(_ what: Retired) {
    let retiredIn = epoch.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
    if canRelease(what, retiredIn, oldest: oldestReader) {
      what.release()
    } else {
      wait(for: what, retiredIn)
    }
    collect()
  }

  /// One reference to an object is enough to wait with: of several, snapshots of one state, the one
  /// retired last.
  private func wait(for what: Retired, _ retiredIn: UInt64) {
    let identity = what.identity
    let isThere = waiting.withLock { waiting in
      isWaiting.store(true, ordering: .relaxed)
      let place = identity == 0 ? nil : waiting.list.firstIndex { $0.what.identity == identity }
      guard let place else {
        waiting.list.append((retiredIn, what))
        return false
      }
      waiting.list[place].epoch = max(waiting.list[place].epoch, retiredIn)
      return true
    }
    if isThere { what.release() }
  }

  /// Releases what was retired and can no longer be found. A load if there is nothing.
  package func collect() {
    guard isWaiting.load(ordering: .relaxed) else { return }
    var released: [Retired] = []
    let pause = waiting.withLock { waiting -> Int? in
      let oldest = oldestReader
      waiting.list.removeAll { entry in
        guard canRelease(entry.what, entry.epoch, oldest: oldest) else { return false }
        released.append(entry.what)
        return true
      }
      isWaiting.store(!waiting.list.isEmpty, ordering: .relaxed)
      if waiting.list.isEmpty || waiting.isAskedFor { return nil }
      waiting.isAskedFor = true
      return waiting.pause
    }
    // Outside of the lock: what goes may retire something itself.
    for what in released { what.release() }
    guard let pause else { return }
    later(pause) { [weak self] in self?.collectAgain() }
  }

  private func collectAgain() {
    waiting.withLock { waiting in
      waiting.isAskedFor = false
      waiting.pause = min(2 * waiting.pause, ReaderRegistry.longestPause)
    }
    collect()
    waiting.withLock { if $0.list.isEmpty { $0.pause = ReaderRegistry.shortestPause } }
  }

  /// How many retired things are not released yet.
  package var waitingCount: Int { waiting.withLock { $0.list.count } }

  private func canRelease(_ what: Retired, _ retiredIn: UInt64, oldest: UInt64) -> Bool {
    if retiredIn < oldest { return true }
    let identity = what.identity
    if identity == 0 { return false }
    var isFree = true
    forEachUsedSlot { slot in
      let epoch = ReaderRegistry.word(slot, 0).pointee.load(ordering: .sequentiallyConsistent)
      guard epoch != 0, epoch <= retiredIn else { return }
      // It has said what it uses, or is just about to find it.
      let object = ReaderRegistry.word(slot, 1).pointee.load(ordering: .acquiring)
      if object == 0 || object == identity { isFree = false }
    }
    return isFree && retiredIn < oldestInCrowd
  }

  /// The least epoch of those who are registered; `.max` if nobody is.
  private var oldestReader: UInt64 {
    var oldest = oldestInCrowd
    forEachUsedSlot { slot in
      let epoch = ReaderRegistry.word(slot, 0).pointee.load(ordering: .sequentiallyConsistent)
      if epoch != 0 { oldest = min(oldest, epoch) }
    }
    return oldest
  }

  private var oldestInCrowd: UInt64 {
    if crowdLength.pointee.load(ordering: .sequentiallyConsistent) == 0 { return .max }
    return crowd.withLock { $0.keys.min() ?? .max }
  }

  @inline(__always) private func forEachUsedSlot(_ body: (UnsafeMutableRawPointer) -> Void) {
    var bits = used.pointee.load(ordering: .sequentiallyConsistent)
    while bits != 0 {
      body(slot(bits.trailingZeroBitCount))
      bits &= bits &- 1
    }
  }
}
