import LatewoodBytes
import Synchronization

/// A range of addresses over a file whose memory is filled by reading. It records which pages are
/// in memory and which nodes and values have been verified.
///
/// ```
/// segments   64 KiB: | page | page | ... |         one word each: which pages are in memory, kept,
///                                                  being read; which batch cools it
/// proofs     as `AddressSpace.verified`
/// ```
///
/// Owned by the cache of a file, which changes it only while holding its lock.
// SAFETY: the pointers never change. Segments are only accessed with the cache's lock held, memory
// by the invariants of the cache, and proofs atomically. All of it stays allocated until `deinit`.
final class CachedRange: @unchecked Sendable {
  /// The state of 64 KiB of the range. All zeros means that nothing is in memory.
  struct Segment {
    /// Pages that are completely in memory, one bit each.
    var resident: UInt16 = 0
    /// Pages that are kept in memory.
    var kept: UInt16 = 0
    /// Pages that are being read from the file.
    var filling: UInt16 = 0
    /// Whether the segment is in the cache's queue of hot segments.
    var isListed = false
    var isListedAsKept = false
    /// The number of the batch with which the segment cools; 0 if it is not cooling.
    var batch: UInt32 = 0

    /// The number of pages that can be released.
    var evictable: Int { (resident & ~kept).nonzeroBitCount }
  }

  /// The part of a byte range that lies in one segment.
  struct Piece {
    let segment: Int
    /// The byte range in the file.
    let part: Range<UInt64>

    var pages: UInt16 {
      let first = CachedRange.page(of: part.lowerBound)
      let last = CachedRange.page(of: part.upperBound - 1)
      return CachedRange.mask(from: first, to: last + 1)
    }

    /// The number of bytes from the start of a page to the end of this piece, at most a page.
    func end(in page: Int) -> Int {
      Int(min(part.upperBound - CachedRange.offset(of: page, in: segment), UInt64(CachedRange.pageLength)))
    }

    func part(in page: Int) -> Range<UInt64> {
      let start = CachedRange.offset(of: page, in: segment)
      return part.clamped(to: start..<start + UInt64(CachedRange.pageLength))
    }
  }

  /// The result of reading pages from the file.
  struct Filled {
    var whole: UInt16 = 0
    /// The number of bytes read into each page that the file does not fill.
    var partial: [Int: Int] = [:]
  }

  static let segmentLength = 64 << 10
  static let pageLength = min(segmentLength, Int(SystemCalls.pageLength))
  static let pagesInSegment = segmentLength / pageLength
  private static let proofWords = segmentLength / 256 / 8

  let base: UnsafeMutableRawPointer
  let capacity: UInt64
  let proofs: UnsafeMutableRawPointer
  private let memory: MemoryRange
  private let segments: MemoryRange
  private let proofMemory: MemoryRange
  /// The segments with pages to keep, in the order in which they were added. Some may not have such
  /// pages any longer.
  private(set) var kept: [Int] = []
  private let highest = Atomic<UInt64>(0)
  /// For each segment, the offsets of the nodes and values longer than a segment that reach into it
  /// and may have proofs.
  private var longProofs: [Int: Set<UInt64>] = [:]

  /// - Parameter capacities: sizes to try, in bytes, multiples of 64 KiB. The first one that the
  ///   system grants is used.
  init(capacities: [UInt64]) throws(StorageError) {
    memory = try MemoryRange(capacities: capacities)
    base = memory.base
    capacity = memory.capacity
    let count = capacity / UInt64(CachedRange.segmentLength) + 1
    segments = try MemoryRange(capacities: [count * UInt64(MemoryLayout<Segment>.stride)])
    proofMemory = try MemoryRange(capacities: [UInt64(AddressSpace.proofLength(for: capacity))])
    proofs = proofMemory.base
  }

  func contains(_ address: UnsafeRawPointer) -> Bool {
    address >= UnsafeRawPointer(base) && address - UnsafeRawPointer(base) < Int(capacity)
  }

  // SAFETY: there is a segment for every address, and a zeroed one is valid.
  subscript(segment: Int) -> Segment {
    get { segments.base.assumingMemoryBound(to: Segment.self)[segment] }
    set { segments.base.assumingMemoryBound(to: Segment.self)[segment] = newValue }
  }

  // MARK: Offsets and pages

  private static func page(of offset: UInt64) -> Int { Int(offset % UInt64(segmentLength)) / pageLength }

  static func offset(of page: Int, in segment: Int) -> UInt64 {
    UInt64(segment) * UInt64(segmentLength) + UInt64(page * pageLength)
  }

  static func mask(from first: Int, to end: Int) -> UInt16 {
    UInt16(truncatingIfNeeded: (UInt32(1) << UInt32(end)) &- (UInt32(1) << UInt32(first)))
  }

  static func mask(of pages: [Int]) -> UInt16 { pages.reduce(0) { $0 | 1 << $1 } }

  static func pages(in mask: UInt16) -> [Int] {
    (0..<pagesInSegment).filter { mask & 1 << $0 != 0 }
  }

  /// Returns the runs of adjacent pages in a mask.
  static func runs(of pages: UInt16) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var rest = UInt32(pages)
    while rest != 0 {
      let first = rest.trailingZeroBitCount
      let end = first + (~(rest >> UInt32(first))).trailingZeroBitCount
      runs.append(first..<end)
      rest &= ~(UInt32(mask(from: first, to: end)))
    }
    return runs
  }

  static func pieces(of part: Range<UInt64>) -> some Sequence<Piece> {
    let length = UInt64(segmentLength)
    let segments = part.isEmpty ? 0..<0 : part.lowerBound / length..<(part.upperBound - 1) / length + 1
    return segments.lazy.map { segment in
      let whole = segment * length..<(segment + 1) * length
      return Piece(segment: Int(segment), part: part.clamped(to: whole))
    }
  }

  // MARK: Memory

  /// Reads adjacent pages, and adds the number of bytes that the file had for each page to
  /// `outcome`.
  func read(
    _ run: Range<Int>, of segment: Int, into outcome: inout Filled,
    _ readFile: (UnsafeMutableRawBufferPointer, UInt64) throws(StorageError) -> Int
  ) throws(StorageError) {
    let offset = CachedRange.offset(of: run.lowerBound, in: segment)
    // SAFETY: the pages are in the range, and by invariant 4 of the cache no reader accesses them.
    let target = UnsafeMutableRawBufferPointer(
      start: base + Int(offset), count: run.count * CachedRange.pageLength)
    highest.max(offset + UInt64(target.count), ordering: .relaxed)
    let count = try readFile(target, offset)
    let whole = count / CachedRange.pageLength
    outcome.whole |= CachedRange.mask(from: run.lowerBound, to: run.lowerBound + whole)
    for page in run.dropFirst(whole) {
      outcome.partial[page] = max(0, count - (page - run.lowerBound) * CachedRange.pageLength)
    }
  }

  /// Reads the part of a page after its valid bytes, which readers may be using.
  func readRest(
    of page: Int, of segment: Int, from valid: Int, into outcome: inout Filled,
    _ readFile: (UnsafeMutableRawBufferPointer, UInt64) throws(StorageError) -> Int
  ) throws(StorageError) {
    let offset = CachedRange.offset(of: page, in: segment) + UInt64(valid)
    // SAFETY: the rest of the page is in the range, and no reader accesses it.
    let target = UnsafeMutableRawBufferPointer(
      start: base + Int(offset), count: CachedRange.pageLength - valid)
    let reached = valid + (try readFile(target, offset))
    if reached == CachedRange.pageLength {
      outcome.whole |= 1 << page
    } else {
      outcome.partial[page] = reached
    }
  }

  /// The offset after which nothing was ever read.
  var reach: UInt64 { highest.load(ordering: .relaxed) }

  /// Copies a part of the file into the range.
  ///
  /// - Parameter file: the address that byte 0 of the file would have.
  func copy(_ part: Range<UInt64>, from file: UnsafeRawPointer) {
    // SAFETY: the caller has these bytes in memory, and no reader accesses them in the range before
    // they are announced.
    (base + Int(part.lowerBound)).copyMemory(
      from: file + Int(part.lowerBound), byteCount: Int(part.upperBound - part.lowerBound))
  }

  /// Copies a unit into the range, unless it is there. If it is not, no reader accesses it.
  func show(_ bytes: UnsafeRawBufferPointer, at address: UnsafeRawPointer) {
    let count = min(bytes.count, Int(capacity) - (address - UnsafeRawPointer(base)))
    guard let source = bytes.baseAddress, count > 0, !KeyOrder.isEqual(address, source, count) else { return }
    // SAFETY: the address and the bytes after it are in the range.
    (base + (address - UnsafeRawPointer(base))).copyMemory(from: source, byteCount: count)
  }

  /// Writes the bytes that differ from the bytes in memory. Readers do not access these bytes.
  func update(with bytes: UnsafeRawBufferPointer, at offset: UInt64) {
    let target = base + Int(offset)
    for index in 0..<bytes.count where target.load(fromByteOffset: index, as: UInt8.self) != bytes[index] {
      target.storeBytes(of: bytes[index], toByteOffset: index, as: UInt8.self)
    }
  }

  /// Returns the memory of pages to the system. Readers do not access these pages.
  func discard(_ pages: UInt16, of segment: Int) {
    for run in CachedRange.runs(of: pages) {
      // SAFETY: whole pages of the range.
      SystemCalls.zeroPages(
        base + Int(CachedRange.offset(of: run.lowerBound, in: segment)),
        length: run.count * CachedRange.pageLength)
    }
  }

  /// Records that a value longer than a segment is about to have a proof.
  func noteLongProof(of part: Range<UInt64>) {
    for piece in CachedRange.pieces(of: part) {
      longProofs[piece.segment, default: []].insert(part.lowerBound)
    }
  }

  /// Clears the proofs of all nodes and values that start in a segment or in the previous one, or
  /// are longer than a segment and reach into it.
  func clearProofs(of segment: Int) {
    if !longProofs.isEmpty { clearLongProofs(of: segment) }
    let first = max(0, segment - 1) * CachedRange.proofWords
    // SAFETY: each segment has this number of words, and a zeroed one is a valid Atomic<UInt64>.
    let words = proofs.assumingMemoryBound(to: Atomic<UInt64>.self)
    for word in first..<(segment + 1) * CachedRange.proofWords {
      words[word].store(0, ordering: .sequentiallyConsistent)
    }
  }

  private func clearLongProofs(of segment: Int) {
    guard let offsets = longProofs.removeValue(forKey: segment) else { return }
    for offset in offsets {
      let word = proofs.assumingMemoryBound(to: Atomic<UInt64>.self) + Int(offset / 2048)
      // Both bits of these 64 bytes, for a node and for a value.
      word.pointee.bitwiseAnd(~(3 << (offset / 64 % 32 * 2)), ordering: .sequentiallyConsistent)
    }
  }

  // MARK: Kept pages

  func noteKept(_ segment: Int) {
    if self[segment].isListedAsKept { return }
    self[segment].isListedAsKept = true
    kept.append(segment)
  }

  /// Removes segments without pages to keep from the list.
  func forgetUnkept() {
    kept.removeAll { segment in
      if self[segment].kept != 0 { return false }
      self[segment].isListedAsKept = false
      return true
    }
  }
}
