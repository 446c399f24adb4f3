import LatewoodBytes

/// Runs `body` with `count` zeroed bytes of temporary memory.
func withScratch<Result>(
  _ count: Int, _ body: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Result
) throws(StorageError) -> Result {
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 4096)
  defer { bytes.deallocate() }
  bytes.initializeMemory(as: UInt8.self, repeating: 0)
  return try body(bytes)
}

extension UnsafeMutableRawBufferPointer {
  func part(_ offset: UInt64, _ length: Int) -> UnsafeMutableRawBufferPointer {
    UnsafeMutableRawBufferPointer(rebasing: self[Int(offset)..<Int(offset) + length])
  }
}
