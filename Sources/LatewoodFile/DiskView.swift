import LatewoodBytes
import LatewoodDevice

/// The bytes of a file as the disk has them, for comparison with those that the mapping shows.
///
/// After a failed sync the system keeps showing bytes that never reached the disk, in pages that it
/// marks as clean. It drops them on request, but not pages that another process, or a snapshot of
/// this one, has mapped. Writing the same bytes again does not help: ext4 was seen to report such a
/// second write as durable, and to have zeros there after the next mount.
struct DiskView: ~Copyable {
  private static let windowLength = 1 << 20

  private let device: any Device
  private let base: UnsafeRawPointer
  private let window: UnsafeMutableRawBufferPointer
  /// The range of the file that is in the window.
  private var loaded: Range<UInt64> = 0..<0
  private var isImpossible = false

  init(of device: any Device, mappedAt base: UnsafeRawPointer) {
    self.device = device
    self.base = base
    window = .allocate(byteCount: DiskView.windowLength, alignment: directAlignment)
  }

  deinit { window.deallocate() }

  /// Whether the disk has the same bytes as the mapping in a range of the file. True if the disk
  /// cannot be read past the cache.
  ///
  /// Throws errors of the device if a second read fails too.
  mutating func agrees(on range: Range<UInt64>) throws(Fault) -> Bool {
    var at = range.lowerBound
    while at < range.upperBound {
      if !loaded.contains(at) { try load(at) }
      if isImpossible { return true }
      let end = min(loaded.upperBound, range.upperBound)
      // The file is shorter on the disk.
      guard end > at else { return false }
      let part = window[Int(at - loaded.lowerBound)..<Int(end - loaded.lowerBound)]
      // SAFETY: the caller says that the range is in the file, and nobody writes to it now.
      let seen = UnsafeRawBufferPointer(start: base + Int(at), count: part.count)
      guard DiskView.areEqual(UnsafeRawBufferPointer(rebasing: part), seen) else { return false }
      at = end
    }
    return true
  }

  private mutating func load(_ offset: UInt64) throws(Fault) {
    let start = offset & ~UInt64(directAlignment - 1)
    var count: Int?
    do throws(Fault) {
      count = try device.readFromDisk(into: window, at: start)
    } catch {
      // The system may have reported the old failure, which it does once.
      count = try device.readFromDisk(into: window, at: start)
    }
    isImpossible = count == nil
    loaded = start..<start + UInt64(count ?? 0)
  }

  private static func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
    guard let left = left.baseAddress, let other = right.baseAddress else { return true }
    var at = 0
    while at + 8 <= right.count {
      if left.u64(at) != other.u64(at) { return false }
      at += 8
    }
    while at < right.count {
      if left.u8(at) != other.u8(at) { return false }
      at += 1
    }
    return true
  }
}
