import LatewoodBytes
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
/// A window is noted as readable once all of it was. Like proofs, notes are cleared after a while
/// (`setProofLifetime`). Windows with holes stay partial while their other bytes are in memory,
/// because reading a hole would fill memory with zeros. Unreadable bytes are an error only for
/// callers that need them.
extension MappedFile {
  private typealias Word = UnsafeMutablePointer<Atomic<UInt64>>

  /// The number of windows that are made readable ahead when a file is read sequentially. (Without:
  /// 25 million entries a second in the first scan of 1,000,000.)
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
  ) throws(Fault) {
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
      MappedFile.touch(base + Int(truncatingIfNeeded: wanted.lowerBound))
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
    do throws(Fault) {
      try ask(windows.lowerBound * length..<windows.upperBound * length, base)
    } catch {
      return false
    }
    note(Note.isReadable, windows, bitmap)
    return true
  }

  private func ask(_ range: Range<UInt64>, _ base: UnsafeRawPointer) throws(Fault) {
    try device.makeReadable(MappedFile.bytes(range, base), at: range.lowerBound)
  }

  private func isInMemory(_ range: Range<UInt64>, _ base: UnsafeRawPointer) -> Bool {
    device.isInMemory(MappedFile.bytes(range, base))
  }

  /// Reads a byte in a way that the compiler cannot optimize away.
  private static func touch(_ byte: UnsafeRawPointer) {
    // SAFETY: any byte in memory is a valid Atomic<UInt8>, and nothing is stored.
    _ = byte.assumingMemoryBound(to: Atomic<UInt8>.self).pointee.load(ordering: .relaxed)
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
