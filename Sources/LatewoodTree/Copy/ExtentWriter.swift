import LatewoodBytes
import LatewoodFile

/// Writes consecutive values into reserved space, and returns the offset and checksum of each.
final class ExtentWriter {
  private static let capacity = 1 << 20

  private let seed: UInt64
  private let write: (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void
  private let memory = UnsafeMutableRawPointer.allocate(byteCount: ExtentWriter.capacity, alignment: 64)
  private var used = 0
  /// The file offset of the bytes in `memory`.
  private var start: UInt64 = 0

  init(
    seed: UInt64,
    write: @escaping (_ bytes: UnsafeRawBufferPointer, _ offset: UInt64) throws(StorageError) -> Void
  ) {
    self.seed = seed
    self.write = write
  }

  // SAFETY: the pointer is shared only during calls of `write`.
  deinit { memory.deallocate() }

  /// Sets the offset of the next values. All earlier values must have been flushed.
  func begin(at offset: UInt64) { start = offset }

  func append(_ value: UnsafeRawBufferPointer) throws(StorageError) -> (offset: UInt64, checksum: UInt32) {
    let offset = start + UInt64(used)
    guard let bytes = value.baseAddress else { return (offset, checksum(of: memory, 0)) }
    if value.count > ExtentWriter.capacity - used { try flush() }
    if value.count > ExtentWriter.capacity {
      try write(value, start)
      start += UInt64(value.count)
    } else {
      (memory + used).copyMemory(from: bytes, byteCount: value.count)
      used += value.count
    }
    return (offset, checksum(of: bytes, value.count))
  }

  /// Copies an extent of another file, verifying it in the memory from which it is written.
  func append(_ value: BaseValue, from reads: VerifiedReads) throws(StorageError) -> (
    offset: UInt64, checksum: UInt32
  ) {
    if value.length <= ExtentWriter.capacity {
      if value.length > ExtentWriter.capacity - used { try flush() }
      let checksum = try reads.copy(value, to: memory + used, seed: seed)
      defer { used += value.length }
      return (start + UInt64(used), checksum)
    }
    let offset = start + UInt64(used)
    var stream = XXH64.Stream(seed: seed)
    try reads.eachPiece(of: value) { bytes throws(StorageError) in
      stream.update(bytes)
      if bytes.count > ExtentWriter.capacity - used { try flush() }
      if let address = bytes.baseAddress {
        (memory + used).copyMemory(from: address, byteCount: bytes.count)
        used += bytes.count
      }
    }
    return (offset, UInt32(truncatingIfNeeded: stream.finish()))
  }

  private func checksum(of bytes: UnsafeRawPointer, _ count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: XXH64.hash(bytes, count, seed: seed))
  }

  func flush() throws(StorageError) {
    guard used > 0 else { return }
    try write(UnsafeRawBufferPointer(start: memory, count: used), start)
    start += UInt64(used)
    used = 0
  }
}
