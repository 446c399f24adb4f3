import Synchronization

/// The registry of running reads. Replaced objects are released once no reader can use them, and
/// threads never wait.
///
/// A short read registers instead of counting references: it writes to a cache line that other
/// threads seldom write to, whereas a lock or a reference count is one cache line shared by all
/// threads. A thread that replaces an object passes it to `retire`. The object is released
/// immediately if no registered reader could be using it. Otherwise it is released by a later call
/// of `retire` or `collect`, or by a call that the registry schedules through `later`. Readers do
/// not release objects, and threads do not wait for readers.
///
/// ```
/// line 0      epoch: grows with each retired object, from 1 on
///             used: a bit for each slot that was ever taken
///             length of the crowd
/// line 1 ...  one slot each: epoch of its reader, or 0 | the only object that it uses, or 0
/// ```
///
/// ```
/// A reader                                       A thread that replaces an object
/// 1. reads the epoch `e`                         1. puts another one in the object's place
/// 2. takes a slot: changes it from 0 to `e`      2. advances the epoch from `r`, in which
///                                                   the object is retired
/// 3. finds an object by an atomic pointer        3. reads all slots
/// 4. notes which object, and uses it
/// 5. clears the slot
/// ```
///
/// Why that is safe: all of these steps except the reader's last two are sequentially consistent,
/// so they have a single order. A reader that found the object before it was replaced had already
/// done steps 1 and 2: `e` is not greater than `r`, and the later scan sees its slot taken, or
/// taken and cleared. Therefore the object is kept while a slot has an epoch from 1 to `r`. Readers
/// with a greater epoch found the changed pointer. A slot is cleared with release ordering and
/// scanned with acquire ordering. Therefore everything that a reader did happened before the
/// release of the object that it read. This holds even if others took the slot afterwards, because
/// taking it changes the value that the reader left.
///
/// A long read, which may run a caller's closure, would keep everything that is retired while it
/// runs. But it has noted which object it uses, so other objects need not wait for it. A scan that
/// sees the epoch of one reader and the object of the next in the same slot is still correct: the
/// next reader can only have registered after the scan began, when the object could no longer be
/// found.
///
/// Invariants:
/// 1. A reader that registers after an object was retired can no longer find it.
/// 2. A slot's object is 0 whenever its epoch is 0.
/// 3. There are at most as many unreleased retired objects as there are readers. Retired closures
///    wait for every reader that registered before.
///
/// A thread starts at the slot with its own number. It tries other slots if that one is taken,
/// because the closure of another read on the same thread reads again, or because there are more
/// threads than slots. If all are taken, it joins the crowd, which is guarded by a lock.
///
/// Thread safety: any thread. No reader may be registered when it is destroyed.
// SAFETY: the memory is only accessed atomically and stays at one address from `init` to `deinit`.
package final class ReaderRegistry: @unchecked Sendable {
  /// A registered read, which must be ended exactly once.
  package struct Ticket: @unchecked Sendable {
    /// The slot; nil for a reader in the crowd.
    fileprivate let slot: UnsafeMutableRawPointer?
    fileprivate let epoch: UInt64
    /// The registry; nil for a reader that has a slot. This avoids a counted reference, whose count
    /// would be one cache line for all threads.
    fileprivate let crowd: Unmanaged<ReaderRegistry>?

    /// The ticket of a read that need not be registered.
    package static var none: Ticket { Ticket(slot: nil, epoch: 0, crowd: nil) }

    /// Notes that this is the only retirable object that the read uses.
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
    /// The number of milliseconds until the next attempt; `isAskedFor` is set once the attempt has
    /// been scheduled with `later`.
    var pause = shortestPause
    var isAskedFor = false
  }

  /// The length of a line: two cache lines of 64 bytes, because processors fetch them in pairs.
  private static let stride = 128
  private static let slotCount = 64
  private static let shortestPause = 1
  private static let longestPause = 64

  private let memory: UnsafeMutableRawPointer
  /// The number of readers without a slot, by epoch.
  private let crowd = Guarded<[UInt64: Int]>([:])
  private let waiting = Guarded(Waiting())
  private let isWaiting = Atomic<Bool>(false)
  private let later: @Sendable (_ milliseconds: Int, _ body: @escaping @Sendable () -> Void) -> Void

  /// - Parameter later: runs a closure on another thread after some milliseconds. Called, for one
  ///   closure at a time, while a retired object cannot be released.
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

  /// Registers a read of this thread. Objects that it finds through sequentially consistent loads
  /// of atomic pointers after this stay valid until the ticket's `leave`.
  @inline(__always) package func enter() -> Ticket {
    enter(at: ThreadNumbers.current & (ReaderRegistry.slotCount &- 1))
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

  /// Takes over one reference to an object, and releases it once no registered reader can have
  /// found the object.
  ///
  /// The pointer that held this reference must already have been changed, so that later readers do
  /// not find the object through it.
  package func retire<Object: AnyObject>(_ object: Unmanaged<Object>) {
    retire(.object(Unmanaged<AnyObject>.fromOpaque(object.toOpaque())))
  }

  /// Calls a closure once, on this thread or another, as soon as no registered reader can use the
  /// memory that it frees. The closure must not block.
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

  /// Keeps a retired object for later. If several references to the same object are retired, for
  /// example by snapshots of one state, only one is kept, with the latest epoch.
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

  /// Releases retired objects that can no longer be in use. Costs one load if there are none.
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
    // Outside the lock, because a released object may retire others.
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

  // MARK: Waiting without retiring

  /// Ends an epoch and returns it. Readers that register later see everything written before.
  package func advance() -> UInt64 {
    epoch.pointee.wrappingAdd(1, ordering: .sequentiallyConsistent).oldValue
  }

  /// Returns whether all readers that were registered when `advance` returned this epoch have left.
  package func isPast(_ epoch: UInt64) -> Bool { epoch < oldestReader }

  /// Returns whether no epoch has ended since a reader registered.
  package func isCurrent(_ ticket: Ticket) -> Bool {
    ticket.epoch == epoch.pointee.load(ordering: .sequentiallyConsistent)
  }

  /// Whether any reader is registered.
  package var isOccupied: Bool { oldestReader != .max }

  /// The number of retired objects and closures that are not released yet.
  package var waitingCount: Int { waiting.withLock { $0.list.count } }

  private func canRelease(_ what: Retired, _ retiredIn: UInt64, oldest: UInt64) -> Bool {
    if retiredIn < oldest { return true }
    let identity = what.identity
    if identity == 0 { return false }
    var isFree = true
    forEachUsedSlot { slot in
      let epoch = ReaderRegistry.word(slot, 0).pointee.load(ordering: .sequentiallyConsistent)
      guard epoch != 0, epoch <= retiredIn else { return }
      // A reader that has noted its object, or is about to find one.
      let object = ReaderRegistry.word(slot, 1).pointee.load(ordering: .acquiring)
      if object == 0 || object == identity { isFree = false }
    }
    return isFree && retiredIn < oldestInCrowd
  }

  /// The least epoch of all registered readers; `.max` if there are none.
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
