import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import Synchronization

/// Makes a mapping readable window by window, so that one system call serves all first reads in a
/// window.
///
/// ```
/// unknown -- all of it is in memory, or was read --> readable   nothing more is asked
///    |
///    '------ only a part is, or can be read -------> partial    each read asks for its own bytes
/// ```
///
/// A window is noted as readable once all of it has been readable. Like proofs, notes are cleared
/// after a while (`setProofLifetime`). Windows with holes stay partial while their other bytes are
/// in memory, because reading a hole would fill memory with zeros. Unreadable bytes are an error
/// only for callers that need them.
///
/// For a file that is larger than memory, windows are read only where reads are sequential.
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
    let ahead = windows.lowerBound..<min(windows.upperBound + MappedFile.windowsAhead, limit / length)
    if isLargerThanMemory {
      let continues = sequences.withLock { $0.take(windows, readingTo: ahead.upperBound) }
      if continues, makeWindows(ahead, bitmap, base) { return }
      return try ask(range, base)
    }
    let unknown = windows.lowerBound * length..<windows.upperBound * length
    let wanted = range.clamped(to: unknown)
    // A reader that continues where the last windows ended is probably sequential.
    let continues = windowsEnd.exchange(windows.upperBound, ordering: .relaxed) == windows.lowerBound
    if continues, isInMemory(ahead.lowerBound * length..<ahead.upperBound * length, base) {
      windowsEnd.store(ahead.upperBound, ordering: .relaxed)
      return note(Note.isReadable, ahead, bitmap)
    }
    if windows.count > 1, isInMemory(unknown, base) { return note(Note.isReadable, windows, bitmap) }
    if isInMemory(wanted, base) {
      // Touching a page makes the system map its cached neighbours, which speeds up the next call.
      (base + Int(truncatingIfNeeded: wanted.lowerBound)).touch()
      let isWhole = windows.count == 1 && isInMemory(unknown, base)
      // Near a hole, reading ahead is not useful.
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
    // Reads all pages from the disk together, instead of one by one.
    if isLargerThanMemory, !isInMemory(range, base) { device.readAhead(range) }
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

/// Recognizes sequential reads by the windows of a file where the last few reads have ended.
///
/// A scan reads leaves in one part of the file and values in another, and other threads read
/// elsewhere, so several sequences are remembered.
struct ReadSequences {
  private static let count = 8
  /// The end of the windows of each sequence, exclusive.
  private var ends = [UInt64](repeating: .max, count: ReadSequences.count)
  /// The index of the oldest sequence. A read that does not continue any sequence replaces it.
  private var oldest = 0

  /// Records a read of windows, and returns whether it continues an earlier one: in the same
  /// window, or in the next.
  ///
  /// - Parameter end: the end of the read if it continues an earlier one.
  mutating func take(_ windows: Range<UInt64>, readingTo end: UInt64) -> Bool {
    if let place = ends.firstIndex(where: { $0 == windows.lowerBound || $0 &- 1 == windows.lowerBound }) {
      ends[place] = end
      return true
    }
    ends[oldest] = windows.upperBound
    oldest = (oldest + 1) % ReadSequences.count
    return false
  }
}
