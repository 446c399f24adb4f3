import LatewoodBytes
import LatewoodConcurrency
import Synchronization

extension PageCache {
  /// Releases memory until the cache is within its budget, as far as readers allow. Called with the
  /// monitor held.
  ///
  /// A segment begins to cool when readers can no longer find anything in it; it has cooled once
  /// all readers that had found something in it have left. This usually takes hardly any time. To
  /// always have segments to release immediately, segments begin to cool when more than three
  /// quarters of the budget are hot, until only half of the budget is hot. There is thus one batch
  /// for each quarter of the budget that is read, however long a reader stays.
  func evict() {
    let limit = budget / CachedRange.pageLength
    if state.pages - state.cooling > limit * 3 / 4 { cool(to: limit / 2) }
    if state.pages > limit { discardCooled() }
  }

  private func discardCooled() {
    let isOver = state.batches.prefix { $0.isOver }
    if isOver.isEmpty { return }
    state.batches.removeFirst(isOver.count)
    for batch in isOver {
      for id in batch.segments where id.range[id.segment].batch == batch.number {
        discard(id.range, id.segment)
      }
    }
  }

  private func discard(_ range: CachedRange, _ segment: Int) {
    let pages = range[segment].resident & ~range[segment].kept
    // By invariants 1 and 2 no reader has an address in it, and none can get one without the lock.
    range.discard(pages, of: segment)
    change(range, segment) { segment in
      segment.resident &= ~pages
      segment.batch = 0
    }
  }

  private func cool(to goal: Int) {
    state.lastBatch &+= state.lastBatch == .max ? 2 : 1
    var batch = CoolingBatch(number: state.lastBatch)
    var busy: [SegmentID] = []
    while state.pages - state.cooling > goal, let id = state.hot.popFirst() {
      id.range[id.segment].isListed = false
      if id.range[id.segment].filling != 0 {
        busy.append(id)
        continue
      }
      id.range.clearProofs(of: id.segment)
      change(id.range, id.segment) { if $0.evictable > 0 { $0.batch = batch.number } }
      batch.segments.append(id)
    }
    for id in busy { change(id.range, id.segment) { _ in } }
    if batch.segments.isEmpty { return }
    // The epochs advance after the proofs are cleared, so that readers that register later do not
    // find them.
    batch.ends = state.registries.map { ($0, $0.advance()) }
    state.batches.append(batch)
  }

  // MARK: The log

  /// Pins records of the log from an offset, until a matching `unpin`.
  package func pin(from floor: UInt64) { locked { $0.floors[floor, default: 0] += 1 } }

  /// Undoes one call of `pin`. Records before the lowest offset that is still pinned may be
  /// released.
  package func unpin(from floor: UInt64) {
    monitor.lock()
    defer { monitor.unlock() }
    if let count = state.floors[floor] { state.floors[floor] = count > 1 ? count - 1 : nil }
    guard let least = state.floors.keys.min() else { return }
    for range in state.ranges {
      for segment in range.kept {
        var pages: UInt16 = 0
        for page in 0..<CachedRange.pagesInSegment
        where CachedRange.offset(of: page, in: segment) + UInt64(CachedRange.pageLength) <= least {
          pages |= 1 << page
        }
        change(range, segment) { $0.kept &= ~pages }
      }
      range.forgetUnkept()
    }
    evict()
  }

  // MARK: Holding

  /// Returns a pin on everything that is subsequently provided to the caller, as long as the pin is
  /// retained.
  package func pin() -> CachePin { CachePin(self) }

  /// Pins everything that is provided during a single call, until the ticket's `leave`.
  package func enter() -> ReaderRegistry.Ticket {
    let ticket = pinned.enter()
    // Proofs are checked with relaxed loads, none of which may move before this point.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return ticket
  }

  /// Returns whether everything provided under an earlier ticket is certainly still in memory. The
  /// caller must have a new ticket.
  package func isUndisturbed(since ticket: ReaderRegistry.Ticket) -> Bool { pinned.isCurrent(ticket) }
}

/// Segments that cool together.
struct CoolingBatch {
  let number: UInt32
  var segments: [SegmentID] = []
  /// The epoch of each registry that must be past before the memory can be released.
  var ends: [(registry: ReaderRegistry, epoch: UInt64)] = []

  var isOver: Bool { ends.allSatisfy { $0.registry.isPast($0.epoch) } }
}

/// A segment of one range, which it keeps alive.
struct SegmentID {
  let range: CachedRange
  let segment: Int

  init(_ range: CachedRange, _ segment: Int) {
    self.range = range
    self.segment = segment
  }
}

/// A first-in, first-out queue of segments.
struct SegmentQueue {
  private var list: [SegmentID] = []
  private var first = 0

  mutating func append(_ id: SegmentID) { list.append(id) }

  mutating func popFirst() -> SegmentID? {
    guard first < list.count else { return nil }
    let id = list[first]
    first += 1
    if first > 64, first * 2 > list.count {
      list.removeFirst(first)
      first = 0
    }
    return id
  }
}
