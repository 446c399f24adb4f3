import LatewoodBytes
import LatewoodDevice

/// Ways to the bytes of a file that do not end the process where the disk fails.
extension FileView {
  /// Sees to it that a range, which is below `limit`, can be touched through the mapping. Throws
  /// `inputOutput` if the disk does not give it.
  package func makeReadable(_ offset: UInt64, _ length: Int) throws(Fault) {
    guard let owner, length > 0 else { return }
    // SAFETY: the owner lives as long as the mapping that this view is of.
    try owner.takeUnretainedValue().device.makeReadable(
      UnsafeRawBufferPointer(start: base + Int(truncatingIfNeeded: offset), count: length), at: offset)
  }

  /// Copies a range, which is below `limit`, into memory of the caller's by a call of the system.
  /// Throws what the device throws.
  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Fault) {
    guard let address = target.baseAddress, !target.isEmpty else { return }
    guard let owner else {
      return address.copyMemory(from: base + Int(truncatingIfNeeded: offset), byteCount: target.count)
    }
    let count = try owner.takeUnretainedValue().device.read(into: target, at: offset)
    guard count == target.count else {
      throw Fault(
        .inputOutput, "the file has become shorter than it was", offset: offset + UInt64(count))
    }
  }

  /// Fills a window with what the disk has, not the cache; where that cannot be asked, with what
  /// the cache has. Returns how many bytes there were.
  ///
  /// - Parameters: as `Device.readFromDisk`.
  package func readMedium(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(Fault) -> Int
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

/// Makes a file readable piece by piece for whoever goes through it from front to back: a call of
/// the system for many frames.
struct ReadableWindow {
  private static let length: UInt64 = 256 << 10

  private let view: FileView
  private var range: Range<UInt64> = 0..<0

  init(_ view: FileView) { self.view = view }

  /// Sees to it that `length` bytes from `offset` on can be touched; they are in the file. Throws
  /// `inputOutput` if the disk does not give them.
  mutating func need(_ offset: UInt64, _ length: UInt64) throws(Fault) {
    let end = offset &+ length
    if offset >= range.lowerBound, end <= range.upperBound { return }
    let start = range.contains(offset) ? range.upperBound : offset
    let ahead = min(max(end, start &+ ReadableWindow.length), max(end, view.limit))
    do throws(Fault) {
      try view.makeReadable(start, Int(ahead - start))
      range = start..<ahead
    } catch {
      // What is not needed may be as it likes.
      guard ahead > end else { throw error }
      try view.makeReadable(start, Int(end - start))
      range = start..<end
    }
  }
}
