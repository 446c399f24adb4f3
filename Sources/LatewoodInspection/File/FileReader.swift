import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads a file with system calls instead of a mapping, so that a read error of the disk is
/// reported as an error with its offset and does not end the process.
///
/// Successive small reads share one window. The reader never writes. Use it from one thread at a
/// time.
package final class FileReader {
  /// The treatment of a block that the disk cannot read.
  package enum BadBlocks {
    /// The read fails.
    case fail
    /// The block reads as zeros and is noted, so that the rest can still be read.
    case readAsZeros
  }

  private static let windowLength = 128 << 10
  /// The length of a read that is probably not sequential.
  private static let shortWindowLength = 16 << 10
  private static let blockLength = 4096

  let device: any Device
  /// The size of the file when it was last checked; bytes appended since are ignored.
  package private(set) var size: UInt64 = 0
  /// The blocks that the disk could not read, with `readAsZeros`.
  package private(set) var unreadable: [Range<UInt64>] = []
  /// The maximum number of bytes after a log that are searched, as for a store that opens the file.
  package let searchLimit: UInt64
  private let badBlocks: BadBlocks
  private var window: [UInt8] = []
  private var windowStart: UInt64 = 0

  /// Creates a reader. Reads only the size of the file.
  package init(
    _ device: any Device, badBlocks: BadBlocks = .fail, searchLimit: UInt64 = TornTail.searchLimit
  ) throws(StorageError) {
    self.device = device
    self.badBlocks = badBlocks
    self.searchLimit = searchLimit
    try refresh()
  }

  /// Updates the size and discards the window.
  func refresh() throws(StorageError) {
    size = try device.size()
    window = []
  }

  /// Returns whether the disk could not read some of these bytes, which were read as zeros.
  func isUnreadable(_ offset: UInt64, _ count: UInt64) -> Bool {
    unreadable.contains {
      $0.upperBound > offset && ($0.lowerBound <= offset || $0.lowerBound - offset < count)
    }
  }

  /// Returns whether all of these bytes lie within the file.
  func holds(_ offset: UInt64, _ count: UInt64) -> Bool { count <= size && offset <= size - count }

  // MARK: Bytes

  /// Returns the bytes of a range that must lie within the file and be no longer than `limit`.
  package func bytes(_ range: Range<UInt64>, limit: Int = 64 << 20) throws(StorageError) -> [UInt8] {
    guard range.upperBound <= size, range.upperBound - range.lowerBound <= UInt64(limit) else {
      throw StorageError.damaged(at: range.lowerBound, "the range does not lie within the file")
    }
    let bytes = try readSome(at: range.lowerBound, count: range.count)
    guard bytes.count == range.count else {
      throw StorageError(.inputOutput, "the file was truncated while it was read", offset: range.lowerBound)
    }
    return bytes
  }

  /// Returns a copy of `count` bytes starting at `offset`; nil if they do not all lie within the
  /// file.
  func bytes(at offset: UInt64, count: Int) throws(StorageError) -> [UInt8]? {
    guard count >= 0, holds(offset, UInt64(count)) else { return nil }
    if count > Self.windowLength { return try bytes(offset..<offset + UInt64(count), limit: .max) }
    return Array(try some(at: offset, count: count))
  }

  /// Returns at most `count` bytes starting at `offset`, fewer at the end of the file. Use it for
  /// many small reads in ascending order.
  package func some(at offset: UInt64, count: Int) throws(StorageError) -> ArraySlice<UInt8> {
    guard offset < size else { return [] }
    let wanted = Int(min(UInt64(count), size - offset))
    try load(offset, wanted)
    let start = Int(offset - windowStart)
    return window[min(start, window.count)..<min(start + wanted, window.count)]
  }

  /// Calls `body` with the address of bytes of the file, which must not be kept; returns nil if
  /// they do not all lie within the file.
  func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    guard count >= 0, holds(offset, UInt64(count)) else { return nil }
    try load(offset, count)
    let start = Int(offset - windowStart)
    return try window.withUnsafeBytes { bytes in
      Result { () throws(StorageError) -> R? in
        // SAFETY: by the check, `count` bytes starting at `start` lie within the window.
        guard let base = bytes.baseAddress, start + count <= bytes.count else { return nil }
        return try body(base + start)
      }
    }.get()
  }

  /// Copies a range that lies within the file.
  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
    let isCopied: Void? = try withBytes(at: offset, count: target.count) { bytes in
      target.copyMemory(from: UnsafeRawBufferPointer(start: bytes, count: target.count))
    }
    guard isCopied != nil else {
      throw StorageError(.inputOutput, "the file was truncated while it was read", offset: offset)
    }
  }

  // MARK: Whole ranges

  /// Calls `body` with the bytes of a range, piece by piece, until it returns false. The range must
  /// lie within the file.
  package func forEachPiece(
    of range: Range<UInt64>,
    _ body: (_ offset: UInt64, _ piece: UnsafeRawBufferPointer) throws(StorageError) -> Bool
  ) throws(StorageError) {
    var at = range.lowerBound
    while at < range.upperBound {
      let end = min(range.upperBound, at + 1 << 20)
      // A short range probably lies in the window, and so do the bytes that are read next.
      let isShort = end - at <= UInt64(Self.windowLength)
      let piece = isShort ? try some(at: at, count: Int(end - at)) : try bytes(at..<end)[...]
      guard UInt64(piece.count) == end - at else {
        throw StorageError(.inputOutput, "the file was truncated while it was read", offset: at)
      }
      let continues = try piece.withUnsafeBytes { bytes in
        Result { () throws(StorageError) in try body(at, bytes) }
      }.get()
      if !continues { return }
      at = end
    }
  }

  /// Returns the offset of the first nonzero byte of a range within the file; the end of the range
  /// if there is none.
  func firstNonZero(in range: Range<UInt64>) throws(StorageError) -> UInt64 {
    var found = range.upperBound
    try forEachPiece(of: range) { offset, piece in
      guard let first = piece.firstNonZero else { return true }
      found = offset + UInt64(first)
      return false
    }
    return found
  }

  /// Returns the parts of a range that are not large holes, which read as zeros.
  func storedRanges(in range: Range<UInt64>) -> StoredRanges { StoredRanges(of: device, in: range) }

  /// Returns whether all bytes of a range within the file are zero, without reading large holes.
  package func isZero(_ range: Range<UInt64>) throws(StorageError) -> Bool {
    var ranges = storedRanges(in: range)
    while let stored = ranges.next() {
      guard try firstNonZero(in: stored) == stored.upperBound else { return false }
    }
    return true
  }

  // MARK: The disk

  /// Loads the window with `count` bytes starting at `offset`, or as many as there are.
  private func load(_ offset: UInt64, _ count: Int) throws(StorageError) {
    let end = windowStart + UInt64(window.count)
    if offset >= windowStart, offset + UInt64(count) <= end { return }
    let goesOn = offset >= windowStart && offset <= end + UInt64(Self.blockLength)
    let ahead = max(count, goesOn ? Self.windowLength : Self.shortWindowLength)
    // If one block cannot be read, its neighbours still can.
    do throws(StorageError) {
      window = try readSome(at: offset, count: ahead)
    } catch {
      window = try readSome(at: offset, count: count)
    }
    windowStart = offset
  }

  private func readSome(at offset: UInt64, count: Int) throws(StorageError) -> [UInt8] {
    guard offset < size else { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(min(UInt64(count), size - offset)))
    let got = try bytes.withUnsafeMutableBytes { buffer in
      Result { () throws(StorageError) in try copy(to: buffer, at: offset) }
    }.get()
    bytes.removeLast(bytes.count - got)
    return bytes
  }

  /// Copies bytes of the file and returns their number, which is smaller if the file has become
  /// shorter. With `readAsZeros`, copies zeros in place of what the disk cannot read.
  private func copy(to target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    do throws(StorageError) {
      let got = try device.read(into: target, at: offset)
      if badBlocks == .fail || got == target.count { return got }
      zero(target[got...])
      return target.count
    } catch {
      guard badBlocks == .readAsZeros, error.kind == .inputOutput else { throw error }
    }
    zero(target[...])
    var done = 0
    while done < target.count {
      let position = offset + UInt64(done)
      let piece = min(target.count - done, Self.blockLength - Int(position % UInt64(Self.blockLength)))
      do throws(StorageError) {
        let part = UnsafeMutableRawBufferPointer(rebasing: target[done..<done + piece])
        _ = try device.read(into: part, at: position)
      } catch {
        guard error.kind == .inputOutput else { throw error }
        note(unreadable: position..<position + UInt64(piece))
      }
      done += piece
    }
    return target.count
  }

  private func zero(_ part: Slice<UnsafeMutableRawBufferPointer>) {
    UnsafeMutableRawBufferPointer(rebasing: part).initializeMemory(as: UInt8.self, repeating: 0)
  }

  private func note(unreadable range: Range<UInt64>) {
    // A read may begin or end within a block, and blocks are read more than once.
    let block = UInt64(Self.blockLength)
    let start = range.lowerBound / block * block
    let whole = start..<min(size, start + block)
    if let last = unreadable.last, last.upperBound == whole.lowerBound {
      unreadable[unreadable.count - 1] = last.lowerBound..<whole.upperBound
    } else if !unreadable.contains(where: { $0.contains(whole.lowerBound) }) {
      unreadable.append(whole)
    }
  }
}

extension UnsafeRawBufferPointer {
  var isZero: Bool { firstNonZero == nil }
}
