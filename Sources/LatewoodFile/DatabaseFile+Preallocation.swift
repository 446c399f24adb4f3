import LatewoodBytes
import LatewoodDevice

/// Space that an earlier writer preallocated between the end of the log and the end of the file.
///
/// A write to one of its blocks may have failed undetectably, because cache and disk both show
/// zeros there. As long as a process has such a page mapped, ext4 reports the next write there as
/// durable, but has zeros there after the next mount. So these blocks are never reused: the space
/// is punched, which drops the pages for every process, and is preallocated again when needed.
extension DatabaseFile {
  /// Punches the preallocated space after the log. Returns false if appended bytes might not reach
  /// the disk there.
  ///
  /// Readers see zeros there before and after. Throws errors of the device if a second read fails
  /// too.
  func reclaimPreallocation(behind found: Found) throws(Fault) -> Bool {
    let end = found.reader.position.offset
    let mask = device.blockLength - 1
    // The block in which the log ends stays in use. A nodes frame may reach beyond the end of the
    // file.
    let block = end & ~mask
    if end > found.floor, found.size > block, try !isWritten(block..<min(end, found.size)) { return false }
    let start = (end + mask) & ~mask
    guard found.size > start else { return true }
    let (limit, overflow) = found.size.addingReportingOverflow(mask)
    if overflow { return false }
    do throws(Fault) {
      return try device.punch(offset: start, length: (limit & ~mask) - start)
    } catch {
      // The space stays allocated and unused.
      return false
    }
  }

  /// Whether part of a block, which must be in the file, reached the disk. False for zeros, which a
  /// failed write leaves too.
  private func isWritten(_ part: Range<UInt64>) throws(Fault) -> Bool {
    if part.isEmpty { return true }
    let view = try view(through: part.upperBound)
    let hold = view.hold()
    defer { withExtendedLifetime(hold) {} }
    try view.makeReadable(part.lowerBound, part.count)
    let base = view.base
    // SAFETY: the caller guarantees that these bytes are in the file, and has walked to them.
    if part.allSatisfy({ (base + Int($0)).u8(0) == 0 }) { return false }
    var disk = DiskView(of: device, mappedAt: base)
    return try disk.agrees(on: part)
  }

  /// The start of the first block past the end of the file; nil on overflow.
  package func beyond(_ size: UInt64) -> UInt64? {
    let mask = device.blockLength - 1
    let (sum, overflow) = size.addingReportingOverflow(mask)
    return overflow ? nil : sum & ~mask
  }
}
