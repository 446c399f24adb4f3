import LatewoodBytes
import LatewoodFile

/// Reads the extents of a tree from the disk, in key order, which is the order in which they lie in the file, and checks each against the
/// leaf that names it. One thread at a time.
final class ExtentProof {
  private let seed: UInt64
  private let window: DiskWindow
  /// Where the last one ended.
  private var end = NodeLayout.firstFrame
  /// Regions of nodes that do not lie before it.
  private var regions: [Range<UInt64>] = []

  init(seed: UInt64, read: @escaping DiskWindow.Read) {
    self.seed = seed
    window = DiskWindow(read: read)
  }

  /// No extent may lie in here.
  func skip(_ region: Range<UInt64>) {
    // Between two regions there is the header of a frame; with extents between them, two headers and more.
    if let last = regions.last, region.lowerBound - last.upperBound <= UInt64(2 * FrameHeader.length) {
      regions[regions.count - 1] = last.lowerBound..<region.upperBound
    } else {
      regions.append(region)
    }
  }

  /// Throws `damaged`, and what the device throws.
  func take(_ value: BaseValue, below limit: UInt64) throws(Fault) {
    let offset = value.extentOffset
    let (next, overflow) = offset.addingReportingOverflow(UInt64(value.length))
    guard !overflow, offset >= NodeLayout.firstFrame, next <= limit else {
      throw Fault.damaged(at: offset, "a value's extent does not lie within the file")
    }
    guard value.length > 0 else { return try compare(XXH64.Stream(seed: seed).finish(), with: value) }
    regions.removeFirst(regions.firstIndex { $0.upperBound > offset } ?? regions.count)
    guard offset >= end, (regions.first?.lowerBound ?? .max) >= next else {
      throw Fault.damaged(at: offset, "two nodes or values lie in the same place")
    }
    end = next
    try compare(hash(offset, value.length, below: limit), with: value)
  }

  private func compare(_ sum: UInt64, with value: BaseValue) throws(Fault) {
    guard UInt32(truncatingIfNeeded: sum) == value.extentChecksum else {
      throw Fault.damaged(at: value.extentOffset, "a value does not match its checksum")
    }
  }

  private func hash(_ offset: UInt64, _ length: Int, below limit: UInt64) throws(Fault) -> UInt64 {
    let piece = DiskWindow.capacity / 2
    if length <= piece {
      return XXH64.hash(try window.bytes(at: offset, length, below: limit), length, seed: seed)
    }
    var stream = XXH64.Stream(seed: seed)
    var done = 0
    while done < length {
      let count = min(piece, length - done)
      let bytes = try window.bytes(at: offset + UInt64(done), count, below: limit)
      stream.update(UnsafeRawBufferPointer(start: bytes, count: count))
      done += count
    }
    return stream.finish()
  }
}
