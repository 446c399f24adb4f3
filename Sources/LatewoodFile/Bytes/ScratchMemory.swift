import LatewoodBytes
import LatewoodDevice

/// Runs `body` with `count` zeroed bytes of temporary memory.
func withScratch<Result>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Result
) throws(StorageError) -> Result {
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
  defer { bytes.deallocate() }
  bytes.initializeMemory(as: UInt8.self, repeating: 0)
  return try body(bytes)
}

/// Runs `body` with `count` bytes of memory that are not initialized, for the bytes of units.
///
/// Throws `outOfMemory` if the process cannot get that much.
package func withWork<Result>(
  _ count: Int, _ body: (UnsafeMutableRawPointer) throws(StorageError) -> Result
) throws(StorageError) -> Result {
  // A length in a file does not exceed the length of the file, but it may exceed the memory.
  if count > 1 << 20 { try MemoryRange.check(count) }
  let memory = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 64)
  defer { memory.deallocate() }
  return try body(memory)
}

extension UnsafeMutableRawBufferPointer {
  func part(_ offset: UInt64, _ length: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: self[Int(offset)..<Int(offset) + length])
  }
}
