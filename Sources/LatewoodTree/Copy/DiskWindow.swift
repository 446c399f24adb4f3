import LatewoodBytes
import LatewoodDevice

/// A part of a file in memory of its own, read from the disk and not from what the system caches.
///
/// Thread safety: one thread at a time.
final class DiskWindow {
  /// Fills memory from an offset on; both are at multiples of `directAlignment`. Returns how many
  /// bytes the file had.
  typealias Read = (_ target: UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(Fault) -> Int

  /// Longer than any node. A disk gives pieces of this length at its full rate.
  static let capacity = 1 << 20

  private let read: Read
  /// False: as much is read as is asked for, unless that lies right behind what was read before.
  private let readsAhead: Bool
  // SAFETY: freed in deinit; nobody keeps a pointer into it after the next call of `bytes`.
  private let memory = UnsafeMutableRawPointer.allocate(
    byteCount: DiskWindow.capacity, alignment: directAlignment)
  private var start: UInt64 = 0
  private var count = 0

  init(readsAhead: Bool = true, read: @escaping Read) {
    self.readsAhead = readsAhead
    self.read = read
  }

  deinit { memory.deallocate() }

  /// Some bytes of the file; valid until the next call.
  ///
  /// - Parameters:
  ///   - length: less than `capacity` by a block at least.
  ///   - limit: below it everything has been written that will be. At a multiple of
  ///     `directAlignment`, or past the end of the file.
  func bytes(at offset: UInt64, _ length: Int, below limit: UInt64) throws(Fault) -> UnsafeRawPointer {
    if offset < start || offset - start > UInt64(count) || length > count - Int(offset - start) {
      try load(from: offset, length, below: limit)
    }
    let skipped = Int(offset - start)
    guard length <= count - skipped else {
      throw Fault.damaged(at: offset, "the disk has less of the file than was written")
    }
    return UnsafeRawPointer(memory + skipped)
  }

  private func load(from offset: UInt64, _ length: Int, below limit: UInt64) throws(Fault) {
    let block = UInt64(directAlignment)
    let isInSequence = count > 0 && offset >= start && offset - start <= UInt64(count) + block
    start = offset & ~(block - 1)
    count = 0
    guard limit > start else { return }
    // A whole number of blocks: the last one may reach past the end of the file.
    var blocks = min((limit - start - 1) / block + 1, UInt64(DiskWindow.capacity) / block)
    if !readsAhead, !isInSequence { blocks = min(blocks, (offset - start + UInt64(length) - 1) / block + 1) }
    let target = UnsafeMutableRawBufferPointer(start: memory, count: Int(blocks * block))
    count = min(try read(target, start), target.count)
  }
}
