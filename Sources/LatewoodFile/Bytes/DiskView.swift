import LatewoodBytes
import LatewoodDevice

/// The bytes of a file on the disk, for comparison with its mapping. Bytes that have been read are
/// kept as long as this value exists, so the file must not be written during that time.
///
/// After a failed sync the page cache keeps bytes that never reached the disk, in pages marked
/// clean. The system drops them on request, but not while another process, or a snapshot in this
/// one, has them mapped. Writing the same bytes again does not help: ext4 has been observed to
/// report the second write as durable, but to contain zeros after the next mount.
struct DiskView: ~Copyable {
  private static let windowLength = 1 << 20

  private let device: any Device
  /// The bytes that have been read; empty until the first read.
  private var window = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// The range of the file that is in the window.
  private var loaded: Range<UInt64> = 0..<0
  private var isImpossible = false

  init(of device: any Device) { self.device = device }

  deinit { window.deallocate() }

  /// Returns whether disk and mapping agree on a range of the file. Returns true if the system
  /// cannot read the disk past its cache.
  ///
  /// - Parameter base: the address where the file is mapped.
  ///
  /// Throws errors of the device if a second read fails too.
  mutating func agrees(
    on range: Range<UInt64>, mappedAt base: UnsafeRawPointer
  ) throws(StorageError) -> Bool {
    var at = range.lowerBound
    while at < range.upperBound {
      if !loaded.contains(at) { try load(at) }
      if isImpossible { return true }
      let end = min(loaded.upperBound, range.upperBound)
      // False if the file is shorter on the disk.
      guard end > at else { return false }
      let part = window[Int(at - loaded.lowerBound)..<Int(end - loaded.lowerBound)]
      // SAFETY: the caller guarantees that the range is in the file and is not being written.
      let seen = UnsafeRawBufferPointer(start: base + Int(at), count: part.count)
      guard DiskView.areEqual(UnsafeRawBufferPointer(rebasing: part), seen) else { return false }
      at = end
    }
    return true
  }

  private mutating func load(_ offset: UInt64) throws(StorageError) {
    let start = offset & ~UInt64(directAlignment - 1)
    if window.isEmpty {
      window = .allocate(byteCount: DiskView.windowLength, alignment: directAlignment)
    }
    loaded = 0..<0
    var count: Int?
    do throws(StorageError) {
      count = try device.readFromDisk(into: window, at: start)
    } catch {
      // The system may have reported an earlier failure, which it reports only once.
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
