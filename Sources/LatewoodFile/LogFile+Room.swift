import LatewoodBytes
import LatewoodDevice

/// What lies between the end of the log and the end of the file when a writer opens it: room that
/// another one has reserved.
///
/// A block of it may be one that could not be written. The cache shows zeros there, and so does the
/// disk: nothing tells. As long as somebody has the page mapped, ext4 says of what is written there
/// next that it is durable, and has zeros there after the next mount. So no block is used in which
/// a write may have failed: the room is given back, which takes the pages from all who have them,
/// and reserved anew when it is needed.
extension LogFile {
  /// Gives the room behind the log back; false if what is appended there might not come to the
  /// disk.
  ///
  /// For others who read the file nothing changes: they see zeros there before and after. Throws
  /// what the device throws when it is asked twice.
  func givesRoomBack(behind found: Found) throws(Fault) -> Bool {
    let end = found.walk.position.offset
    let mask = device.blockLength - 1
    // The block in which the log ends is gone on with. Room for nodes may go beyond the end of the
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
      // The room stays as it is, and nobody uses it.
      return false
    }
  }

  /// Whether a part of a block, which is in the file, came to the disk. Zeros do not tell: a block
  /// that could not be written has them too.
  private func isWritten(_ part: Range<UInt64>) throws(Fault) -> Bool {
    if part.isEmpty { return true }
    let base = mapping.space.base
    // SAFETY: the caller says that these bytes are in the file, and has walked to them.
    if part.allSatisfy({ (base + Int($0)).u8(0) == 0 }) { return false }
    var disk = DiskView(of: device, mappedAt: base)
    return try disk.agrees(on: part)
  }

  /// Past the end of the file, and not in the block in which it ends; nil if there is no such
  /// place.
  package func beyond(_ size: UInt64) -> UInt64? {
    let mask = device.blockLength - 1
    let (sum, overflow) = size.addingReportingOverflow(mask)
    return overflow ? nil : sum & ~mask
  }
}
