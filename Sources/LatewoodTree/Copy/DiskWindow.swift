import LatewoodBytes
import LatewoodDevice

/// A part of a file in private memory, read from the disk and not from the page cache.
///
/// Thread safety: one thread at a time.
final class DiskWindow {
  /// A function that reads from an offset and returns the number of bytes read. Address, length and
  /// offset are multiples of `directAlignment`.
  typealias Read = (_ target: UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Int

  /// The usual length of a window: longer than any node, and long enough for the disk's full
  /// throughput.
  static let usualCapacity = 1 << 20

  /// The length of the window.
  let capacity: Int

  private let read: Read
  /// Whether the window is always filled. If false, only the requested bytes are read, unless they
  /// directly follow the previous ones.
  private let readsAhead: Bool
  // SAFETY: freed in deinit. No pointer into it is used after the next call of `bytes`.
  private let memory: UnsafeMutableRawPointer
  private var start: UInt64 = 0
  private var count = 0

  /// - Parameter capacity: a multiple of `directAlignment`, longer than any node.
  init(capacity: Int = DiskWindow.usualCapacity, readsAhead: Bool = true, read: @escaping Read) {
    self.capacity = capacity
    self.readsAhead = readsAhead
    self.read = read
    memory = .allocate(byteCount: capacity, alignment: directAlignment)
  }

  deinit { memory.deallocate() }

  /// Returns bytes of the file, valid until the next call.
  ///
  /// - Parameters:
  ///   - length: at most `capacity` minus one block.
  ///   - limit: bytes below this offset will not be written again. A multiple of `directAlignment`,
  ///     or past the end of the file.
  func bytes(at offset: UInt64, _ length: Int, below limit: UInt64) throws(StorageError) -> UnsafeRawPointer {
    if offset < start || offset - start > UInt64(count) || length > count - Int(offset - start) {
      try load(from: offset, length, below: limit)
    }
    let skipped = Int(offset - start)
    guard length <= count - skipped else {
      throw StorageError.damaged(at: offset, "the file on the disk is shorter than the data written to it")
    }
    return UnsafeRawPointer(memory + skipped)
  }

  private func load(from offset: UInt64, _ length: Int, below limit: UInt64) throws(StorageError) {
    let block = UInt64(directAlignment)
    let isInSequence = count > 0 && offset >= start && offset - start <= UInt64(count) + block
    start = offset & ~(block - 1)
    count = 0
    guard limit > start else { return }
    // Rounded up to blocks: the last one may extend past the end of the file.
    var blocks = min((limit - start - 1) / block + 1, UInt64(capacity) / block)
    if !readsAhead, !isInSequence { blocks = min(blocks, (offset - start + UInt64(length) - 1) / block + 1) }
    let target = UnsafeMutableRawBufferPointer(start: memory, count: Int(blocks * block))
    count = min(try read(target, start), target.count)
  }
}
