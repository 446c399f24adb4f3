import LatewoodBytes
import LatewoodDevice
import LatewoodFile

/// Reads a file with system calls instead of a mapping, so that a read error of the disk is
/// reported as an error with its offset and does not end the process.
///
/// Successive small reads share one window (`DiskBytes`). The reader never writes. Use it from one
/// thread at a time.
package final class FileReader {
  /// The treatment of a block that the disk cannot read.
  package enum BadBlocks {
    /// The read fails.
    case fail
    /// The block reads as zeros and is noted, so that the rest can still be read.
    case readAsZeros
  }

  /// The length of the window, which is filled only by sequential reads.
  private static let windowLength = 128 << 10

  let device: any Device
  /// The maximum number of bytes after a log that are searched, as for a store that opens the file.
  package let searchLimit: UInt64
  private let blocks: BlockReader
  /// The cipher of the codec that opens the units of an encrypted file.
  private(set) var cipher: FileCipher?
  /// The bytes of the file. Their units are opened by a `UnitReader`.
  let window: DiskBytes

  /// Creates a reader. Reads only the size of the file.
  package init(
    _ device: any Device, badBlocks: BadBlocks = .fail, searchLimit: UInt64 = LogRemainder.searchLimit
  ) throws(StorageError) {
    self.device = device
    self.searchLimit = searchLimit
    let blocks = BlockReader(device, badBlocks)
    self.blocks = blocks
    window = DiskBytes(codec: .header, capacity: Self.windowLength, readsAhead: false) {
      (target, offset) throws(StorageError) in
      try blocks.read(into: target, at: offset)
    }
    try refresh()
  }

  /// The size of the file when it was last checked; bytes appended since are ignored.
  package var size: UInt64 { window.size }
  /// The blocks that the disk could not read, with `readAsZeros`.
  package var unreadable: [Range<UInt64>] { blocks.unreadable }

  /// Returns the header with a codec that opens the units of the file, as long as this reader
  /// exists.
  ///
  /// - Parameter needsKey: false if the codec need not open units where there is no key.
  ///
  /// Throws `keyNeeded`, `wrongKey`, `notEncrypted`, and the errors of a derivation.
  func unlock(
    _ header: FileHeader, by key: EncryptionKey?, needsKey: Bool
  ) throws(StorageError) -> FileHeader {
    let unlocked =
      key == nil && !needsKey
      ? DatabaseFile.locked(header) : try DatabaseFile.unlocked(header, of: device, by: key)
    cipher = unlocked.cipher
    return unlocked.header
  }

  /// Updates the size and discards the window.
  func refresh() throws(StorageError) {
    blocks.size = try device.size()
    window.forget()
    window.size = blocks.size
  }

  /// Returns whether the disk could not read some of these bytes, which were read as zeros.
  func isUnreadable(_ offset: UInt64, _ count: UInt64) -> Bool {
    unreadable.contains {
      $0.upperBound > offset && ($0.lowerBound <= offset || $0.lowerBound - offset < count)
    }
  }

  // MARK: Bytes

  /// Returns the bytes of a range that must lie within the file and be no longer than `limit`.
  package func bytes(_ range: Range<UInt64>, limit: Int = 64 << 20) throws(StorageError) -> [UInt8] {
    guard range.upperBound <= size, range.upperBound - range.lowerBound <= UInt64(limit) else {
      throw StorageError.damaged(at: range.lowerBound, "the range does not lie within the file")
    }
    var bytes = [UInt8](repeating: 0, count: range.count)
    try bytes.withUnsafeMutableBytes { target in
      Result { () throws(StorageError) in try window.read(into: target, at: range.lowerBound) }
    }.get()
    return bytes
  }

  /// Returns a copy of `count` bytes starting at `offset`; nil if they do not all lie within the
  /// file.
  func bytes(at offset: UInt64, count: Int) throws(StorageError) -> [UInt8]? {
    guard count >= 0, UInt64(count) <= size, offset <= size - UInt64(count) else { return nil }
    return try bytes(offset..<offset + UInt64(count), limit: .max)
  }

  /// Returns at most `count` bytes starting at `offset`, fewer at the end of the file.
  package func some(at offset: UInt64, count: Int) throws(StorageError) -> [UInt8] {
    guard offset < size else { return [] }
    return try bytes(offset..<offset + min(UInt64(count), size - offset), limit: .max)
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
      let piece = try window.some(at: at, range.upperBound - at)
      if piece.isEmpty { throw BlockReader.truncated(at) }
      if try !body(at, piece) { return }
      at += UInt64(piece.count)
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
}

/// Reads blocks of a file, or zeros in place of those that the disk cannot read.
private final class BlockReader {
  private static let blockLength = 4096

  var size: UInt64 = 0
  private(set) var unreadable: [Range<UInt64>] = []
  private let device: any Device
  private let badBlocks: FileReader.BadBlocks

  init(_ device: any Device, _ badBlocks: FileReader.BadBlocks) {
    self.device = device
    self.badBlocks = badBlocks
  }

  static func truncated(_ offset: UInt64) -> StorageError {
    StorageError(.inputOutput, "the file was truncated while it was read", offset: offset)
  }

  /// Copies bytes of the file, up to its end, and returns their number.
  func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) -> Int {
    let count = Int(min(UInt64(target.count), size - min(size, offset)))
    let target = UnsafeMutableRawBufferPointer(rebasing: target[..<count])
    do throws(StorageError) {
      let got = try device.read(into: target, at: offset)
      if got == count { return count }
      guard badBlocks == .readAsZeros else { throw Self.truncated(offset + UInt64(got)) }
      zero(target[got...])
      return count
    } catch {
      guard badBlocks == .readAsZeros, error.kind == .inputOutput else { throw error }
    }
    zero(target[...])
    var done = 0
    while done < count {
      let at = offset + UInt64(done)
      let length = min(count - done, Self.blockLength - Int(at % UInt64(Self.blockLength)))
      do throws(StorageError) {
        let part = UnsafeMutableRawBufferPointer(rebasing: target[done..<done + length])
        _ = try device.read(into: part, at: at)
      } catch {
        guard error.kind == .inputOutput else { throw error }
        note(unreadable: at)
      }
      done += length
    }
    return count
  }

  private func zero(_ part: Slice<UnsafeMutableRawBufferPointer>) {
    UnsafeMutableRawBufferPointer(rebasing: part).initializeMemory(as: UInt8.self, repeating: 0)
  }

  /// Notes the block at an offset, which may have been read before.
  private func note(unreadable offset: UInt64) {
    let block = UInt64(Self.blockLength)
    let start = offset / block * block
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
