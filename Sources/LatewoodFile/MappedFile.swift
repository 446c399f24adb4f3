import Dispatch
import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// The mappings of one open file: the newest, and the smaller ones that it replaced.
///
/// ```
/// 1 MiB    |----|                 the newest is extended in place, as long as the addresses
/// 4 MiB    |----·-----------|     behind it are free
///
/// 16 MiB   |------------- ...     another place: addresses in an older mapping stay valid,
///                                 new views use the newest
/// ```
///
/// Invariants:
/// 1. Every mapping stays until this object is destroyed. A mapping at a new address is at least
///    twice as large as the one before, unless the process is short of address space, so all older
///    ones together take less address space than the newest.
/// 2. The newest covers everything that the file's views may access: it grows before their limit
///    does.
///
/// Thread safety: any thread.
package final class MappedFile: Sendable {
  let device: any Device
  /// Whether the addresses are those of a `PageCache`.
  let isBuffered: Bool
  private let spaces: Guarded<[AddressSpace]>
  // SAFETY: the object that it refers to is in `spaces`, which only grows.
  private let newest: Atomic<Unmanaged<AddressSpace>>
  /// The lifetime of a proof, in nanoseconds; 0 if proofs never expire.
  private let proofLifetime = Atomic<UInt64>(0)
  /// The end of the most recently read windows.
  let windowsEnd = Atomic<UInt64>(.max)
  /// Whether a timer is running that will clear the proofs.
  private let willForget = Atomic<Bool>(false)

  /// - Parameters:
  ///   - size: length of the file, in bytes.
  ///   - ahead: the number of bytes after the end that a writer is about to append.
  ///
  /// Throws `outOfMemory` if the process cannot get that much address space; and errors of the
  /// device.
  package init(_ device: any Device, covering size: UInt64, ahead: UInt64 = 0) throws(StorageError) {
    self.device = device
    isBuffered = device.cache != nil
    let capacities = Reservation.capacities(covering: size, ahead: ahead)
    let first = try MappedFile.first(of: capacities) { capacity throws(StorageError) in
      try device.map(capacity: capacity)
    }
    spaces = Guarded([first])
    newest = Atomic(Unmanaged.passUnretained(first))
  }

  /// The newest mapping. It covers everything below the limit of every view.
  package var space: AddressSpace { newest.load(ordering: .acquiring)._withUnsafeGuaranteedRef { $0 } }

  /// Returns a mapping of the first `end` bytes of the file and `ahead` more: the newest if it is
  /// large enough, or a new one. Throws as `init`.
  func grown(toCover end: UInt64, ahead: UInt64 = 0) throws(StorageError) -> AddressSpace {
    let (needed, overflow) = end.addingReportingOverflow(ahead)
    let now = space
    if !overflow, needed <= now.capacity { return now }
    return try spaces.withLock { spaces throws(StorageError) in
      // Another thread may have grown the mapping meanwhile.
      let last = space
      if !overflow, needed <= last.capacity { return last }
      let next: AddressSpace
      if let longer = try extended(last, toCover: end, ahead: ahead) {
        next = longer
      } else {
        next = try moved(toCover: end, ahead: ahead)
      }
      // A cache has not read anything into the new mapping yet.
      if !isBuffered { next.mergeProofs(from: last) }
      spaces.append(next)
      newest.store(Unmanaged.passUnretained(next), ordering: .releasing)
      return next
    }
  }

  // MARK: Proofs

  /// Sets the time, in seconds, after which the checksum of a node or value is verified again when
  /// it is read. It may be verified earlier; 0 means never.
  package func setProofLifetime(seconds: Double) {
    proofLifetime.store(UInt64(min(max(seconds, 0), 1e9) * 1e9), ordering: .relaxed)
  }

  /// Starts the timer that clears proofs, before one is marked. One timer serves all proofs made
  /// while it runs.
  func noteProof() {
    let lifetime = proofLifetime.load(ordering: .relaxed)
    guard lifetime > 0, !willForget.load(ordering: .relaxed),
      !willForget.exchange(true, ordering: .acquiringAndReleasing)
    else { return }
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .nanoseconds(Int(clamping: lifetime))) {
      [weak self] in self?.clearProofs()
    }
  }

  private func clearProofs() {
    // In this order, so that a proof made from now on starts the timer again.
    willForget.store(false, ordering: .sequentiallyConsistent)
    for space in spaces.withLock({ $0 }) { space.clearProofs() }
  }

  // MARK: Addresses

  private func extended(
    _ space: AddressSpace, toCover end: UInt64, ahead: UInt64
  ) throws(StorageError) -> AddressSpace? {
    for capacity in Reservation.capacities(covering: end, ahead: ahead) {
      if let next = try device.extend(space, capacity: capacity) { return next }
    }
    return nil
  }

  private func moved(toCover end: UInt64, ahead: UInt64) throws(StorageError) -> AddressSpace {
    let capacities = Reservation.capacities(covering: end, ahead: ahead, isRepeated: true)
    return try MappedFile.first(of: capacities) { capacity throws(StorageError) in
      try device.map(capacity: capacity)
    }
  }

  /// Maps the file with the first capacity that the system grants.
  private static func first(
    of capacities: [UInt64], _ map: (UInt64) throws(StorageError) -> AddressSpace
  ) throws(StorageError) -> AddressSpace {
    var refusal = StorageError(
      .fileTooLarge, "a file of more than 16 TiB does not fit into the address space")
    for capacity in capacities {
      do throws(StorageError) { return try map(capacity) } catch { refusal = error }
    }
    throw refusal
  }
}

/// Makes a mapping readable window by window, so that one system call serves all first reads in a
/// window.
///
/// ```
/// unknown -- all of it is in memory, or was read --> readable   nothing more is asked
///    |
///    '------ only a part is, or can be read -------> partial    each read asks for its own bytes
/// ```
///
/// A window is noted as readable once all of it was. Like proofs, notes are cleared after a while
/// (`setProofLifetime`). Windows with holes stay partial while their other bytes are in memory,
/// because reading a hole would fill memory with zeros. Unreadable bytes are an error only for
/// callers that need them.
extension MappedFile {
  private typealias Word = UnsafeMutablePointer<Atomic<UInt64>>

  /// The number of windows that are made readable ahead when a file is read sequentially. In the
  /// first scan of 1,000,000 entries this raised the rate from 23 to 31 million a second.
  private static let windowsAhead: UInt64 = 7

  private enum Note {
    static let isReadable: UInt64 = 1
    static let isPartial: UInt64 = 2
    static let windowsPerWord: UInt64 = 32
  }

  /// Makes a range safe to read through a mapping. Throws `inputOutput` if the disk cannot read it.
  ///
  /// - Parameters:
  ///   - range: not empty, and below `limit`.
  ///   - base: the address of byte 0 of the file in the mapping.
  ///   - limit: the number of bytes of the file that exist.
  func makeReadable(
    _ range: Range<UInt64>, mappedAt base: UnsafeRawPointer, below limit: UInt64
  ) throws(StorageError) {
    let length = AddressSpace.windowLength
    var windows = range.lowerBound / length..<(range.upperBound + (length - 1)) / length
    // A cache evicts unpinned pages. The last window of the file may still grow.
    guard !isBuffered, windows.upperBound <= limit / length else { return try ask(range, base) }
    let bitmap = space.windows
    var firstUnknown = windows.upperBound
    for window in windows {
      let notes =
        MappedFile.notes(bitmap, window).word.pointee.load(ordering: .relaxed)
        &>> MappedFile.notes(bitmap, window).shift
      if notes & Note.isPartial != 0 { return try ask(range, base) }
      if notes & Note.isReadable == 0 { firstUnknown = min(firstUnknown, window) }
    }
    windows = firstUnknown..<windows.upperBound
    if windows.isEmpty { return }
    noteProof()
    let unknown = windows.lowerBound * length..<windows.upperBound * length
    let wanted = range.clamped(to: unknown)
    // A reader that continues where the last windows ended is probably sequential.
    let continues = windowsEnd.exchange(windows.upperBound, ordering: .relaxed) == windows.lowerBound
    let ahead = windows.lowerBound..<min(windows.upperBound + MappedFile.windowsAhead, limit / length)
    if continues, isInMemory(ahead.lowerBound * length..<ahead.upperBound * length, base) {
      windowsEnd.store(ahead.upperBound, ordering: .relaxed)
      return note(Note.isReadable, ahead, bitmap)
    }
    if windows.count > 1, isInMemory(unknown, base) { return note(Note.isReadable, windows, bitmap) }
    if isInMemory(wanted, base) {
      // Touching a page makes the system map its cached neighbours, which speeds up the next call.
      (base + Int(truncatingIfNeeded: wanted.lowerBound)).touch()
      let isWhole = windows.count == 1 && isInMemory(unknown, base)
      // Near a hole there is no point in looking ahead.
      if !isWhole { windowsEnd.store(.max, ordering: .relaxed) }
      return note(isWhole ? Note.isReadable : Note.isPartial, windows, bitmap)
    }
    if continues, makeWindows(ahead, bitmap, base) {
      return windowsEnd.store(ahead.upperBound, ordering: .relaxed)
    }
    if makeWindows(windows, bitmap, base) { return }
    note(Note.isPartial, windows, bitmap)
    try ask(range, base)
  }

  /// Makes windows readable; returns false if part of them cannot be read.
  private func makeWindows(
    _ windows: Range<UInt64>, _ bitmap: UnsafeMutableRawPointer, _ base: UnsafeRawPointer
  ) -> Bool {
    let length = AddressSpace.windowLength
    do throws(StorageError) {
      try ask(windows.lowerBound * length..<windows.upperBound * length, base)
    } catch {
      return false
    }
    note(Note.isReadable, windows, bitmap)
    return true
  }

  private func ask(_ range: Range<UInt64>, _ base: UnsafeRawPointer) throws(StorageError) {
    try device.makeReadable(MappedFile.bytes(range, base), at: range.lowerBound)
  }

  private func isInMemory(_ range: Range<UInt64>, _ base: UnsafeRawPointer) -> Bool {
    device.isInMemory(MappedFile.bytes(range, base))
  }

  private static func bytes(_ range: Range<UInt64>, _ base: UnsafeRawPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: base + Int(truncatingIfNeeded: range.lowerBound), count: range.count)
  }

  private func note(_ what: UInt64, _ windows: Range<UInt64>, _ bitmap: UnsafeMutableRawPointer) {
    for window in windows {
      let place = MappedFile.notes(bitmap, window)
      place.word.pointee.bitwiseOr(what &<< place.shift, ordering: .relaxed)
    }
  }

  // SAFETY: the newest mapping covers the limit of every view, its bitmap has two bits for every
  // window of its capacity, and a zeroed word is a valid Atomic<UInt64>.
  private static func notes(
    _ bitmap: UnsafeMutableRawPointer, _ window: UInt64
  ) -> (word: Word, shift: UInt64) {
    let word = Int(truncatingIfNeeded: window / Note.windowsPerWord)
    return (
      bitmap.assumingMemoryBound(to: Atomic<UInt64>.self) + word, window % Note.windowsPerWord * 2
    )
  }
}
