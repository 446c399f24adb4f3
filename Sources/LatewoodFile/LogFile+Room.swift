import LatewoodBytes
import LatewoodDevice

/// What lies between the end of the log and the end of the file when a writer opens it: room that another one has reserved.
///
/// A block of it may be one that could not be written. The cache shows zeros there, and so does the disk: nothing tells. As long as somebody has the page
/// mapped, ext4 says of what is written there next that it is durable, and has zeros there after the next mount. So no block is used in which
/// a write may have failed: the room is given back, which takes the pages from all who have them, and reserved anew when it is needed.
extension LogFile {
  /// Gives the room behind the log back, which ends at `end`; false if what is appended there might not come to the disk.
  ///
  /// For others who read the file nothing changes: they see zeros there before and after.
  func givesRoomBack(from end: UInt64, size: UInt64) -> Bool {
    let mask = device.blockLength - 1
    let start = (end + mask) & ~mask
    guard size > end else { return true }
    guard hasContent(from: end & ~mask, to: end) else { return false }
    guard size > start else { return true }
    let (limit, overflow) = size.addingReportingOverflow(mask)
    if overflow { return false }
    do throws(Fault) {
      return try device.punch(offset: start, length: (limit & ~mask) - start)
    } catch {
      // The room stays as it is, and nobody uses it.
      return false
    }
  }

  /// Whether a part of a block was seen to be on the disk, which zeros are not; or is nothing at all.
  private func hasContent(from start: UInt64, to end: UInt64) -> Bool {
    start == end
      || (start..<end).contains { offset in
        // SAFETY: all bytes before the end of the log are in the file.
        (space.base + Int(offset)).u8(0) != 0
      }
  }

  /// Past the end of the file, and not in the block in which it ends; nil if there is no such place.
  package static func beyond(_ size: UInt64) -> UInt64? {
    let (sum, overflow) = size.addingReportingOverflow(LogFile.reservedLength - 1)
    return overflow ? nil : sum & ~(LogFile.reservedLength - 1)
  }
}
