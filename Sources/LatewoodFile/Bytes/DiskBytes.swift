import LatewoodBytes
import LatewoodDevice

/// The bytes of a file in private memory, read with system calls and not through the mapping.
///
/// The window is read in whole blocks. If it cannot be read, only the blocks of the bytes that were
/// asked for are read, because their neighbours may be the ones that are unreadable.
///
/// Memory: one window, from the first read. Thread safety: one thread at a time.
package final class DiskBytes: FileBytes {
  /// A function that reads from an offset and returns the number of bytes read. Address, length and
  /// offset are multiples of `directAlignment`.
  package typealias Read = (_ target: UnsafeMutableRawBufferPointer, _ offset: UInt64) throws(StorageError) ->
    Int

  /// The usual length of a window: longer than any node, and long enough for the disk's full
  /// throughput.
  private static let usualCapacity = 1 << 20

  /// The offset below which bytes may be read, because they will not be written again. The last
  /// block is read to its end.
  package var size: UInt64
  package let codec: UnitCodec
  package var unpinned: DiskBytes { self }

  /// The length of the window.
  private let capacity: Int
  /// Whether the window is always filled. If false, only the requested bytes are read, unless they
  /// directly follow the previous ones.
  private let readsAhead: Bool
  private let readBlocks: Read
  // SAFETY: freed in deinit. No pointer into it is used after the next call.
  private var memory = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  private var start: UInt64 = 0
  private var count = 0

  /// - Parameters:
  ///   - capacity: a multiple of `directAlignment`, longer than any node.
  ///   - readsAhead: whether the bytes after those that are asked for will be needed, too.
  package init(
    codec: UnitCodec, size: UInt64 = 0, capacity: Int = DiskBytes.usualCapacity, readsAhead: Bool = true,
    read: @escaping Read
  ) {
    self.codec = codec
    self.size = size
    self.capacity = capacity
    self.readsAhead = readsAhead
    readBlocks = read
  }

  /// Reads the file behind a view.
  ///
  /// - Parameter fromDisk: whether to read from the disk instead of the page cache, where the
  ///   system can.
  package convenience init(_ view: FileView, fromDisk: Bool) {
    self.init(codec: view.codec, size: view.limit, readsAhead: false) {
      (target, offset) throws(StorageError) in
      if fromDisk { return try view.readFromDisk(into: target, at: offset) }
      let count = Int(min(UInt64(target.count), view.limit - min(view.limit, offset)))
      try view.read(into: target.part(0, count), at: offset)
      return count
    }
  }

  deinit { memory.deallocate() }

  /// Drops the bytes that have been read.
  package func forget() { count = 0 }

  /// Returns bytes from `offset` on, as many as are in memory once the first is, and at most
  /// `length`; none at the end of the file. They are valid until the next call.
  package func some(at offset: UInt64, _ length: UInt64) throws(StorageError) -> UnsafeRawBufferPointer {
    if offset < start || offset - start >= UInt64(count) { try load(from: offset, 1) }
    guard offset >= start, offset - start < UInt64(count), offset < size else {
      return UnsafeRawBufferPointer(start: nil, count: 0)
    }
    let skipped = Int(offset - start)
    let available = min(UInt64(count - skipped), length, size - offset)
    return UnsafeRawBufferPointer(rebasing: memory[skipped..<skipped + Int(available)])
  }

  /// Returns bytes below `size`, valid until the next call.
  ///
  /// - Parameter length: at most `capacity` minus one block.
  package func bytes(at offset: UInt64, _ length: Int) throws(StorageError) -> UnsafeRawPointer {
    if offset < start || offset - start > UInt64(count) || length > count - Int(offset - start) {
      try load(from: offset, length)
    }
    let skipped = Int(offset - start)
    guard length <= count - skipped, let base = memory.baseAddress else { throw DiskBytes.ended(offset) }
    return UnsafeRawPointer(base + skipped)
  }

  private static func ended(_ offset: UInt64) -> StorageError {
    StorageError.damaged(at: offset, "the file on the disk is shorter than the data written to it")
  }

  private func load(from offset: UInt64, _ length: Int) throws(StorageError) {
    let block = UInt64(directAlignment)
    let isInSequence = count > 0 && offset >= start && offset - start <= UInt64(count) + block
    start = offset & ~(block - 1)
    count = 0
    guard size > start else { return }
    if memory.isEmpty { memory = .allocate(byteCount: capacity, alignment: directAlignment) }
    // Rounded up to blocks: the last one may extend past the end of the file.
    let blocks = min((size - start - 1) / block + 1, UInt64(capacity) / block)
    let needed = min(blocks, (offset - start + UInt64(max(length, 1)) - 1) / block + 1)
    let wanted = readsAhead || isInSequence ? blocks : needed
    do throws(StorageError) {
      count = try read(blocks: wanted)
    } catch {
      guard wanted > needed else { throw error }
      count = try read(blocks: needed)
    }
  }

  private func read(blocks: UInt64) throws(StorageError) -> Int {
    let target = memory.part(0, Int(blocks) * directAlignment)
    return min(try readBlocks(target, start), target.count)
  }

  // MARK: The bytes of units

  package func withBytes<R>(
    at offset: UInt64, count: Int, _ body: (UnsafeRawPointer) throws(StorageError) -> R
  ) throws(StorageError) -> R? {
    guard count >= 0, UInt64(count) <= size, offset <= size - UInt64(count) else { return nil }
    return try body(try bytes(at: offset, count))
  }

  package func read(into target: UnsafeMutableRawBufferPointer, at offset: UInt64) throws(StorageError) {
    var done = 0
    try eachPiece(of: offset..<offset + UInt64(target.count)) { piece in
      UnsafeMutableRawBufferPointer(rebasing: target[done...]).copyMemory(from: piece)
      done += piece.count
    }
  }

  package func eachPiece(
    of range: Range<UInt64>, _ body: (UnsafeRawBufferPointer) throws(StorageError) -> Void
  ) throws(StorageError) {
    if range.isEmpty { return }
    if range.count <= capacity / 2 {
      let start = try bytes(at: range.lowerBound, range.count)
      return try body(UnsafeRawBufferPointer(start: start, count: range.count))
    }
    var at = range.lowerBound
    while at < range.upperBound {
      let piece = try some(at: at, range.upperBound - at)
      if piece.isEmpty { throw DiskBytes.ended(at) }
      try body(piece)
      at += UInt64(piece.count)
    }
  }

  package func storedRanges(in range: Range<UInt64>) -> StoredRanges { StoredRanges(of: nil, in: range) }
}
