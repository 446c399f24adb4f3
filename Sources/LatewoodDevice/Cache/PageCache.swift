import LatewoodBytes
import LatewoodConcurrency
import Synchronization

/// A cache that holds parts of one file in a bounded amount of memory. It replaces a mapping where
/// the file cannot, or should not, be mapped.
///
/// It provides ranges of addresses that cover the whole file, like a mapping. But their memory
/// belongs to the process: it is filled by reading when it is first needed, and released when the
/// budget is exceeded. Every address therefore has the same meaning as in a mapping, and the same
/// code reads nodes and values in place. An additional test is not necessary: each node is tested
/// for its proof anyway, and nodes that are released lose their proofs. The price is that the file
/// must fit into the address space of the process.
///
/// ```
/// absent -- read: makeReadable --> hot -- over budget, oldest first --> cooling
///                                   ^------- needed by a reader ----------|
///                                                   its readers have left --> absent
/// kept     never released: records of the log, which are read without asking;
///          hot once they are unpinned
/// ```
///
/// A segment of 64 KiB cools as a whole: its proofs are cleared, so that readers must request it
/// again. Its memory is released once all readers that were registered before have left: short
/// reads in the registries passed to `waitFor`, longer ones with a `CachePin`. Until then it can be
/// warmed again without reading. The cache never waits for readers; while they stay, it may use
/// more than its budget.
///
/// The cache of an encrypted file is *private*: it never reads the file. Its pages are zeros until
/// `show` puts decrypted units into them, before they get a proof.
///
/// Invariants:
/// 1. Bytes that were provided to a reader do not change, and are not released, while the reader is
///    registered.
/// 2. Only nodes and values that are in memory and not cooling have proofs. All proofs about the
///    bytes of a segment start in that segment or in the previous one, or are listed with it
///    (`longProofs`) if they are longer than a segment. If they are longer than a quarter of the
///    budget, they do not have proofs.
/// 3. The valid bytes of a page are its first ones: all of them, or as many as the file had
///    (`partial`).
/// 4. A page is filled by one thread, and only while readers cannot access it.
///
/// Thread safety: any thread. The lock is not held while reading the file, except by `compare`,
/// whose comparison must be of one state.
// SAFETY: `state` is only accessed with the monitor held. The memory that ranges point to exists as
// long as this object.
package final class PageCache: @unchecked Sendable {
  struct State {
    var ranges: [CachedRange] = []
    /// Segments that have pages to release and are not cooling, oldest first.
    var hot = SegmentQueue()
    var batches: [CoolingBatch] = []
    var lastBatch: UInt32 = 0
    /// The number of pages that can be released, and how many of these are cooling.
    var pages = 0
    var cooling = 0
    /// The number of pages that are kept.
    var kept = 0
    /// The number of valid bytes in each page that contains the end of the file.
    var partial: [PageID: Int] = [:]
    /// The number of pins for each offset from which records of the log are needed.
    var floors: [UInt64: Int] = [:]
    /// The registries of readers that may be accessing verified bytes.
    var registries: [ReaderRegistry]
  }

  /// The budget if none is given: 64 MiB.
  package static let usualBudget = 64 << 20

  /// The maximum number of bytes in memory, without kept pages. The cache exceeds it only while
  /// readers need more.
  package let budget: Int
  let monitor = Monitor()
  var state: State
  /// The readers that are not in a registry passed to `waitFor`, but have a `CachePin` or a ticket
  /// of `enter`.
  let pinned = ReaderRegistry(later: { _, _ in })
  /// Whether the memory has decrypted units instead of the bytes of the file.
  package let isPrivate: Bool
  private let readFile: @Sendable (UnsafeMutableRawBufferPointer, UInt64) throws(StorageError) -> Int

  /// - Parameters:
  ///   - budget: in bytes; at least one segment is used.
  ///   - read: reads the file, like `Device.read`.
  init(
    budget: Int, read: @escaping @Sendable (UnsafeMutableRawBufferPointer, UInt64) throws(StorageError) -> Int
  ) {
    self.budget = max(budget, CachedRange.segmentLength)
    readFile = read
    isPrivate = false
    state = State(registries: [pinned])
  }

  /// Creates a private cache.
  init(budget: Int) {
    self.budget = max(budget, CachedRange.segmentLength)
    // New pages are zeros, and `show` fills them.
    readFile = { (target, _) throws(StorageError) in target.count }
    isPrivate = true
    state = State(registries: [pinned])
  }

  /// Lets the cache keep the memory that it provides to the readers of a registry until they leave.
  /// Must be called before the first of them registers.
  package func waitFor(_ registry: ReaderRegistry) {
    locked { state in
      if !state.registries.contains(where: { $0 === registry }) { state.registries.append(registry) }
    }
  }

  /// The numbers of bytes in memory that can be released, and that are kept.
  package var length: (cached: Int, kept: Int) {
    locked { ($0.pages * CachedRange.pageLength, $0.kept * CachedRange.pageLength) }
  }

  @inline(__always) func locked<Result>(_ body: (inout State) -> Result) -> Result {
    monitor.lock()
    defer { monitor.unlock() }
    return body(&state)
  }

  // MARK: Addresses

  /// Returns addresses for at least the first `capacity` bytes of the file. Their contents are read
  /// when `makeReadable` requests them.
  ///
  /// Throws `outOfMemory` if the process cannot get enough address space.
  func addresses(for capacity: UInt64) throws(StorageError) -> AddressSpace {
    let range = try CachedRange(capacities: PageCache.capacities(for: capacity))
    locked { $0.ranges.append(range) }
    do throws(StorageError) {
      try copyKept(to: range)
    } catch {
      locked { $0.ranges.removeAll { $0 === range } }
      throw error
    }
    return AddressSpace(
      base: UnsafeRawPointer(range.base), capacity: range.capacity, verified: range.proofs
    ) { _, _ in withExtendedLifetime((self, range)) {} }
  }

  /// Returns the capacities to try. The first are greater than requested, because every new range
  /// reads the kept pages again.
  private static func capacities(for capacity: UInt64) -> [UInt64] {
    let (ample, overflow) = capacity.multipliedReportingOverflow(by: 4)
    return overflow ? [capacity] : [max(ample, 16 << 20), capacity]
  }

  // MARK: Reading

  /// Implements `Device.makeReadable`. The caller must be registered, unless no other call can
  /// release this file's memory.
  func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    monitor.lock()
    defer { monitor.unlock() }
    guard let range = state.ranges.last(where: { $0.contains(start) }) else { return }
    assert(state.registries.contains { $0.isOccupied }, "readers in place must be registered")
    try load(offset..<offset + UInt64(bytes.count), in: range)
    evict()
  }

  /// Keeps a part of the file in memory in all ranges until `unpin` releases it.
  func pin(_ part: Range<UInt64>) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    for range in state.ranges {
      let part = part.clamped(to: 0..<range.capacity)
      if part.isEmpty { continue }
      // The part is marked as kept before it is read, so that it is not released in between.
      for piece in CachedRange.pieces(of: part) {
        change(range, piece.segment) { $0.kept |= piece.pages }
        range.noteKept(piece.segment)
      }
      try load(part, in: range)
    }
    evict()
  }

  private func copyKept(to range: CachedRange) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    guard state.ranges.count > 1 else { return }
    let older = state.ranges[state.ranges.count - 2]
    for segment in older.kept where older[segment].kept != 0 {
      let pages = older[segment].kept
      change(range, segment) { $0.kept |= pages }
      range.noteKept(segment)
      for run in CachedRange.runs(of: pages) {
        let start = CachedRange.offset(of: run.lowerBound, in: segment)
        let part = start..<start + UInt64(run.count * CachedRange.pageLength)
        // Read only as far as the file extends: these pages were read before.
        try load(part.clamped(to: 0..<range.capacity), in: range, isWhole: false)
        // SAFETY: the pages are kept in the older range, so they are in memory there.
        if isPrivate { range.copy(part.clamped(to: 0..<range.capacity), from: UnsafeRawPointer(older.base)) }
      }
    }
  }

  /// Reads the pages of a range that are not in memory yet. Called with the monitor held, which is
  /// released while reading.
  ///
  /// - Parameter isWhole: whether to throw if the file ends before the end of the range.
  private func load(_ part: Range<UInt64>, in range: CachedRange, isWhole: Bool = true) throws(StorageError) {
    for piece in CachedRange.pieces(of: part) {
      while true {
        warm(range, piece.segment)
        let needed = missing(piece, in: range)
        if needed == 0 { break }
        if needed & range[piece.segment].filling != 0 {
          monitor.wait()
          continue
        }
        try fill(needed, of: piece, in: range, isWhole: isWhole)
        break
      }
    }
  }

  /// Returns the pages that must be read before a piece can be used.
  private func missing(_ piece: CachedRange.Piece, in range: CachedRange) -> UInt16 {
    var needed = piece.pages & ~range[piece.segment].resident
    if needed == 0 || state.partial.isEmpty { return needed }
    for page in CachedRange.pages(in: needed) {
      let id = PageID(range, piece.segment, page)
      if let valid = state.partial[id], valid >= piece.end(in: page) { needed &= ~(1 << page) }
    }
    return needed
  }

  private func fill(
    _ needed: UInt16, of piece: CachedRange.Piece, in range: CachedRange, isWhole: Bool
  ) throws(StorageError) {
    let begun = CachedRange.pages(in: needed).filter {
      state.partial[PageID(range, piece.segment, $0)] != nil
    }
    let valid = begun.map { state.partial[PageID(range, piece.segment, $0)] ?? 0 }
    range[piece.segment].filling |= needed
    monitor.unlock()
    var outcome = CachedRange.Filled()
    var failure: StorageError?
    do throws(StorageError) {
      for run in CachedRange.runs(of: needed & ~CachedRange.mask(of: begun)) {
        try range.read(run, of: piece.segment, into: &outcome, readFile)
      }
      for (page, valid) in zip(begun, valid) {
        try range.readRest(of: page, of: piece.segment, from: valid, into: &outcome, readFile)
      }
    } catch {
      failure = error
    }
    monitor.lock()
    range[piece.segment].filling &= ~needed
    for (page, valid) in outcome.partial { state.partial[PageID(range, piece.segment, page)] = valid }
    for page in CachedRange.pages(in: outcome.whole) where !state.partial.isEmpty {
      state.partial[PageID(range, piece.segment, page)] = nil
    }
    change(range, piece.segment) { $0.resident |= outcome.whole }
    monitor.broadcast()
    if let failure { throw failure }
    if isWhole, let end = outcome.partial.first(where: { $0.value < piece.end(in: $0.key) }) {
      throw StorageError(
        .inputOutput, "the file was truncated",
        offset: CachedRange.offset(of: end.key, in: piece.segment) + UInt64(end.value))
    }
  }

  /// Changes a segment and updates the cache's counts. Called with the monitor held.
  func change(_ range: CachedRange, _ segment: Int, _ body: (inout CachedRange.Segment) -> Void) {
    var changed = range[segment]
    let before = changed
    body(&changed)
    state.pages += changed.evictable - before.evictable
    state.kept +=
      (changed.resident & changed.kept).nonzeroBitCount - (before.resident & before.kept).nonzeroBitCount
    if before.batch != 0 { state.cooling -= before.evictable }
    if changed.batch != 0 { state.cooling += changed.evictable }
    if changed.evictable > 0, changed.batch == 0, !changed.isListed {
      changed.isListed = true
      state.hot.append(SegmentID(range, segment))
    }
    range[segment] = changed
  }

  /// Stops a segment from cooling because a reader needs it again. Called with the monitor held.
  private func warm(_ range: CachedRange, _ segment: Int) {
    if range[segment].batch != 0 { change(range, segment) { $0.batch = 0 } }
  }

  // MARK: Proofs

  /// Calls `body`, which records a proof for the given bytes, but only if the proof would be
  /// cleared before their memory is released.
  package func noteProof(of bytes: UnsafeRawBufferPointer, _ body: () -> Void) {
    let isLong = bytes.count > CachedRange.segmentLength
    guard let start = bytes.baseAddress, !isLong || bytes.count <= budget / 4 else { return }
    monitor.lock()
    defer { monitor.unlock() }
    guard let range = state.ranges.last(where: { $0.contains(start) }) else { return }
    let offset = UInt64(start - UnsafeRawPointer(range.base))
    let part = offset..<offset + UInt64(bytes.count)
    for piece in CachedRange.pieces(of: part) {
      if range[piece.segment].batch != 0 || missing(piece, in: range) != 0 { return }
    }
    if isLong { range.noteLongProof(of: part) }
    body()
  }

  // MARK: Changes of the file

  /// Updates the pages in memory after a write to the file.
  func didWrite(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
    guard let source = bytes.baseAddress, !bytes.isEmpty else { return }
    monitor.lock()
    defer { monitor.unlock() }
    for range in state.ranges {
      let part = (offset..<offset + UInt64(bytes.count)).clamped(to: 0..<range.capacity)
      for piece in CachedRange.pieces(of: part) {
        while range[piece.segment].filling & piece.pages != 0 { monitor.wait() }
        show(piece, of: source - Int(offset), in: range)
      }
    }
  }

  private func show(_ piece: CachedRange.Piece, of file: UnsafeRawPointer, in range: CachedRange) {
    var resident = range[piece.segment].resident & piece.pages
    if !state.partial.isEmpty {
      for page in CachedRange.pages(in: piece.pages & ~resident) {
        let id = PageID(range, piece.segment, page)
        guard let valid = state.partial[id] else { continue }
        resident &= ~(1 << page)
        let part = piece.part(in: page)
        // The new bytes follow a gap, so the rest of the page is read when it is needed.
        if part.lowerBound > CachedRange.offset(of: page, in: piece.segment) + UInt64(valid) { continue }
        range.copy(part, from: file)
        let reached = max(valid, piece.end(in: page))
        state.partial[id] = reached < CachedRange.pageLength ? reached : nil
        if reached == CachedRange.pageLength { change(range, piece.segment) { $0.resident |= 1 << page } }
      }
    }
    for page in CachedRange.pages(in: resident) { range.copy(piece.part(in: page), from: file) }
  }

  /// Puts the bytes of a unit into a private cache, at the address that a reader will use. The
  /// caller is registered, and has made the bytes readable.
  ///
  /// Bytes that are already present are not written again, because other readers may be using them.
  package func show(_ bytes: UnsafeRawBufferPointer, at address: UnsafeRawPointer) {
    guard isPrivate, let source = bytes.baseAddress else { return }
    monitor.lock()
    defer { monitor.unlock() }
    guard let range = state.ranges.last(where: { $0.contains(address) }) else { return }
    range.show(UnsafeRawBufferPointer(start: source, count: bytes.count), at: address)
  }

  /// Brings the cache up to date after other processes may have written to reserved space after an
  /// offset. Pages that readers do not access are read again when they are needed; kept pages are
  /// compared with the file now. Readers do not access the bytes that differ.
  package func compare(from offset: UInt64) throws(StorageError) {
    monitor.lock()
    defer { monitor.unlock() }
    let fresh = UnsafeMutableRawBufferPointer.allocate(
      byteCount: CachedRange.pageLength, alignment: CachedRange.pageLength)
    defer { fresh.deallocate() }
    for range in state.ranges where offset < range.capacity {
      for piece in CachedRange.pieces(of: offset..<max(offset, range.reach)) {
        while range[piece.segment].filling & piece.pages != 0 { monitor.wait() }
        for page in CachedRange.pages(in: range[piece.segment].kept & piece.pages) where !isPrivate {
          let start = CachedRange.offset(of: page, in: piece.segment)
          let isWhole = range[piece.segment].resident & 1 << page != 0
          let valid = isWhole ? fresh.count : state.partial[PageID(range, piece.segment, page)] ?? 0
          let count = min(valid, try readFile(fresh, start))
          range.update(with: UnsafeRawBufferPointer(rebasing: fresh[..<count]), at: start)
        }
        for page in CachedRange.pages(in: piece.pages & ~range[piece.segment].kept) {
          state.partial[PageID(range, piece.segment, page)] = nil
        }
        change(range, piece.segment) { $0.resident &= ~piece.pages | $0.kept }
        range.clearProofs(of: piece.segment)
      }
    }
  }

  /// Drops everything that was read at or after an offset, because these bytes of the file may have
  /// changed. Readers do not use them.
  package func forget(from offset: UInt64) {
    monitor.lock()
    defer { monitor.unlock() }
    let cut = Int(offset % UInt64(CachedRange.pageLength))
    for range in state.ranges where offset < range.capacity {
      for piece in CachedRange.pieces(of: offset..<max(offset, range.reach)) {
        for page in CachedRange.pages(in: piece.pages) {
          let id = PageID(range, piece.segment, page)
          let isWhole = range[piece.segment].resident & 1 << page != 0
          let valid = isWhole ? CachedRange.pageLength : state.partial[id]
          let isCut = CachedRange.offset(of: page, in: piece.segment) < offset
          state.partial[id] = isCut ? valid.map { min($0, cut) } : nil
        }
        change(range, piece.segment) { $0.resident &= ~piece.pages }
        range.clearProofs(of: piece.segment)
      }
    }
  }
}

/// One page of a cache.
struct PageID: Hashable {
  private let range: ObjectIdentifier
  private let number: Int

  init(_ range: CachedRange, _ segment: Int, _ page: Int) {
    self.range = ObjectIdentifier(range)
    number = segment * CachedRange.pagesInSegment + page
  }
}
