import LatewoodBytes
import Synchronization

extension FileDevice {
  /// Whether the system can populate mappings. Linux can since 5.14.
  private static let canPopulate = Atomic<Bool>(true)
  private static let pieceLength = 256 << 10

  /// Asks the system, which can tell without reading. Letting pages be mapped one by one when they
  /// are touched takes less time than mapping all of them here. The answer is only reliable for the
  /// owner of a file.
  package func isInMemory(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return true }
    guard isOwnedByUser else { return false }
    return SystemCalls.isInMemory(start, length: bytes.count) ?? false
  }

  package var memoryLimit: UInt64? { MemoryLimit.current() }

  package func expectRandomReads(of space: AddressSpace, length: UInt64) {
    let pages = min(length, space.capacity) & ~(SystemCalls.pageLength - 1)
    SystemCalls.expectRandomReads(space.base, length: Int(pages))
  }

  package func readAhead(_ range: Range<UInt64>) {
    // For one request, Linux reads at most the length in the disk's settings, usually 128 KiB.
    let longest: UInt64 = 128 << 10
    // After `close`, the request has no descriptor.
    try? descriptor.use { number throws(StorageError) in
      for start in stride(from: range.lowerBound, to: range.upperBound, by: Int(longest)) {
        SystemCalls.readAhead(number, Int64(start), Int(min(longest, range.upperBound - start)))
      }
    }
  }

  package func makeReadable(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(StorageError) {
    guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
    var canPopulate = FileDevice.canPopulate.load(ordering: .relaxed)
    if canPopulate {
      do throws(ErrorNumber) {
        return try retried { () throws(ErrorNumber) in try SystemCalls.populate(start, length: bytes.count) }
      } catch {
        if error == .invalid || error == .noSuchCall || error == .notSupported {
          FileDevice.canPopulate.store(false, ordering: .relaxed)
          canPopulate = false
        }
      }
    }
    // Reading finds the failing offset again, with the system's reason.
    try readThrough(bytes.count, at: offset)
    if canPopulate { try populateAgain(start, bytes.count, at: offset) }
  }

  /// Tries once more, after the bytes could be read. A hole in a full file system in memory can be
  /// read, but touching its mapping, which needs memory, would end the process.
  private func populateAgain(_ start: UnsafeRawPointer, _ length: Int, at offset: UInt64) throws(StorageError)
  {
    do throws(ErrorNumber) {
      try retried { () throws(ErrorNumber) in try SystemCalls.populate(start, length: length) }
    } catch {
      throw StorageError(
        .outOfSpace, "the system has no memory for a hole of the file", offset: offset, errno: error.code,
        path: path)
    }
  }

  /// Reads a range only to find out whether it can be read, and to bring it into the cache.
  private func readThrough(_ length: Int, at offset: UInt64) throws(StorageError) {
    let piece = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(length, FileDevice.pieceLength), alignment: 16)
    defer { piece.deallocate() }
    var done = 0
    while done < length {
      let wanted = min(piece.count, length - done)
      let count: Int
      do throws(StorageError) {
        count = try read(into: .init(rebasing: piece[..<wanted]), at: offset + UInt64(done))
      } catch {
        // After `close`, reading has no descriptor; the mapping shows the contents of the cache.
        if error.kind == .closed { return }
        throw error
      }
      guard count == wanted else {
        throw StorageError(
          .inputOutput, "the file was truncated", offset: offset + UInt64(done + count),
          path: path)
      }
      done += count
    }
  }
}
