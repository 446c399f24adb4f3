import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice

/// Reads of a file that throw, instead of ending the process, if the disk fails.
extension FileView {
  /// Makes a range below `limit` safe to read through the mapping. Throws `inputOutput` if the disk
  /// cannot read it.
  package func makeReadable(_ offset: UInt64, _ length: Int) throws(Fault) {
    guard let owner, length > 0 else { return }
    let range = offset..<offset + UInt64(length)
    // SAFETY: the owner lives as long as this view's mapping.
    try owner._withUnsafeGuaranteedRef { owner in
      Result { () throws(Fault) in try owner.makeReadable(range, mappedAt: base, below: limit) }
    }.get()
  }

  /// The end of the hole in which a part of a range lies; nil if there is none. Throws errors of
  /// the device.
  func endOfHole(in range: Range<UInt64>) throws(Fault) -> UInt64? {
    guard let owner else { return nil }
    // SAFETY: the owner lives as long as this view's mapping.
    let hole = try owner._withUnsafeGuaranteedRef { owner in
      Result { () throws(Fault) in try owner.device.nextHole(from: range.lowerBound) }
    }.get()
    return hole.flatMap { $0.overlaps(range) ? $0.upperBound : nil }
  }

  /// Whether the bytes belong to a `PageCache`, which may evict them once the reader that requested
  /// them is no longer registered.
  package var isBuffered: Bool { owner?._withUnsafeGuaranteedRef { $0.isBuffered } ?? false }

  /// The cache that contains the bytes; nil if the file is mapped.
  var cache: PageCache? { isBuffered ? owner?.takeUnretainedValue().device.cache : nil }

  /// Returns a hold that pins everything read through this view from now on; nil if nothing is ever
  /// evicted. A caller that reads in place needs a hold, unless it is in a registry that the file's
  /// cache waits for.
  package func hold() -> CacheHold? { cache?.hold() }

  /// Pins what is read during a single call, until the ticket's `leave`.
  package func enter() -> ReaderRegistry.Ticket { cache?.enter() ?? .none }

  /// Whether everything read under an earlier ticket is certainly still in memory. The caller must
  /// hold a new ticket.
  package func isUndisturbed(since ticket: ReaderRegistry.Ticket) -> Bool {
    cache?.isUndisturbed(since: ticket) ?? true
  }

  /// Keeps part of the log in memory for readers of records. It must lie below `limit`.
  func keep(_ part: Range<UInt64>) throws(Fault) {
    try owner?.takeUnretainedValue().device.keepMapped(part)
  }

  /// Copies a range below `limit` with a system call. Throws errors of the device.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Fault) {
    guard let address = target.baseAddress, !target.isEmpty else { return }
    guard let owner else {
      return address.copyMemory(from: base + Int(truncatingIfNeeded: offset), byteCount: target.count)
    }
    let count = try owner.takeUnretainedValue().device.read(into: target, at: offset)
    guard count == target.count else {
      throw Fault(
        .inputOutput, "the file was truncated", offset: offset + UInt64(count))
    }
  }

  /// Reads from the disk, bypassing the cache where the system can. Returns the number of bytes
  /// read.
  ///
  /// - Parameters: as `Device.readFromDisk`.
  package func readFromDisk(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Fault)
    -> Int
  {
    guard let owner else {
      let count = Int(min(UInt64(target.count), limit - min(limit, offset)))
      try read(into: UnsafeMutableRawBufferPointer(rebasing: target[..<count]), at: offset)
      return count
    }
    let device = owner.takeUnretainedValue().device
    if let count = try device.readFromDisk(into: target, at: offset) { return count }
    return try device.read(into: target, at: offset)
  }
}

/// Makes a file readable piece by piece for a sequential pass, so that one system call serves many
/// frames.
struct ReadableWindow {
  private static let length: UInt64 = 256 << 10

  private let view: FileView
  private var range: Range<UInt64> = 0..<0

  init(_ view: FileView) { self.view = view }

  /// Makes `length` bytes of the file at `offset` safe to read through the mapping. Throws
  /// `inputOutput` if the disk cannot read them.
  mutating func need(_ offset: UInt64, _ length: UInt64) throws(Fault) {
    let end = offset &+ length
    if offset >= range.lowerBound, end <= range.upperBound { return }
    let start = range.contains(offset) ? range.upperBound : offset
    // After a jump, as over nodes, the following bytes are probably not needed.
    let isNext = offset <= range.upperBound && offset >= range.lowerBound
    let wanted = isNext ? start &+ ReadableWindow.length : end
    let ahead = min(max(end, wanted), max(end, view.limit))
    do throws(Fault) {
      try view.makeReadable(start, Int(ahead - start))
      range = start..<ahead
    } catch {
      // The failure may lie in bytes that were read ahead.
      guard ahead > end else { throw error }
      try view.makeReadable(start, Int(end - start))
      range = start..<end
    }
  }
}
