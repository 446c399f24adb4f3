import LatewoodBytes
import LatewoodDevice

/// The bytes of a file as readers see them: in place in its mapping, or in its page cache. Those of
/// an encrypted file are copied into private memory, as `DiskBytes` does.
///
/// They are made readable piece by piece, so that in a sequential pass one system call serves many
/// frames. Nothing at or beyond the limit of the view is accessed.
///
/// Thread safety: one thread at a time.
package final class ViewedBytes: FileBytes {
  private static let windowLength: UInt64 = 256 << 10

  package let view: FileView
  /// The bytes of an encrypted file, whose view has decrypted units; nil for any other.
  private let stored: DiskBytes?
  /// The pin that keeps everything read in memory; nil if pages are never evicted, or if each call
  /// pins its own bytes.
  private let pin: CachePin?
  /// The bytes that have been made readable and stay so.
  private var readable: Range<UInt64> = 0..<0

  package convenience init(_ view: FileView) { self.init(view, view.pin()) }

  private init(_ view: FileView, _ pin: CachePin?) {
    self.view = view
    self.pin = pin
    stored = view.codec.isEncrypted ? DiskBytes(view, fromDisk: false) : nil
  }

  package var size: UInt64 { view.limit }
  package var codec: UnitCodec { view.codec }
  package var unpinned: ViewedBytes { ViewedBytes(view, nil) }

  package func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    if let stored { return try stored.withBytes(at: offset, count: count, body) }
    guard count >= 0, UInt64(count) <= size, offset <= size - UInt64(count) else { return nil }
    let pin = pin ?? view.pin()
    defer { withExtendedLifetime(pin) {} }
    try need(offset, UInt64(count))
    // SAFETY: by the check, the bytes lie within the file, and they are readable and pinned.
    return try body(view.base + Int(truncatingIfNeeded: offset))
  }

  package func eachPiece(
    of range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    if let stored { return try stored.eachPiece(of: range, body) }
    let pin = pin ?? view.pin()
    defer { withExtendedLifetime(pin) {} }
    try need(range.lowerBound, range.upperBound - range.lowerBound)
    // SAFETY: the caller guarantees that the range lies within the file; it is readable and pinned.
    let start = view.base + Int(truncatingIfNeeded: range.lowerBound)
    try body(UnsafeRawBufferPointer(start: start, count: range.count))
  }

  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
    try view.read(into: target, at: offset)
  }

  package func storedRanges(in range: Range<UInt64>) -> StoredRanges { view.storedRanges(in: range) }

  /// Makes `length` bytes at `offset` safe to read in place. Throws `inputOutput` if the disk
  /// cannot read them.
  func need(_ offset: UInt64, _ length: UInt64) throws(StorageError) {
    if stored != nil { return }
    let end = offset &+ length
    if offset >= readable.lowerBound, end <= readable.upperBound { return }
    let start = readable.contains(offset) ? readable.upperBound : offset
    // After a jump, for example over nodes, the following bytes are probably not needed.
    let isNext = offset <= readable.upperBound && offset >= readable.lowerBound
    let wanted = isNext ? start &+ ViewedBytes.windowLength : end
    let ahead = min(max(end, wanted), max(end, view.limit))
    do throws(StorageError) {
      try view.makeReadable(start, Int(ahead - start))
      note(start..<ahead)
    } catch {
      // The failure may be caused by bytes that were read ahead.
      guard ahead > end else { throw error }
      try view.makeReadable(start, Int(end - start))
      note(start..<end)
    }
  }

  private func note(_ range: Range<UInt64>) {
    // Without a pin, a page cache may evict the bytes after the call.
    if pin != nil || !view.isBuffered { readable = range }
  }
}
