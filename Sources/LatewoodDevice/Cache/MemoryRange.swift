import LatewoodBytes

/// A range of zeroed memory. The system provides memory only for pages that are touched.
// SAFETY: the pointer never changes and is valid until `deinit`; the users of a range never write
// to the same bytes at the same time.
package final class MemoryRange: @unchecked Sendable {
  package let base: UnsafeMutableRawPointer
  package let capacity: UInt64

  /// - Parameter capacities: capacities to try, in bytes, multiples of 64 KiB; the first that the
  ///   system grants is used.
  package init(capacities: [UInt64]) throws(StorageError) {
    for capacity in capacities {
      guard let length = Int(exactly: capacity) else { continue }
      do {
        base = try SystemCalls.mapZeroes(length: length)
        self.capacity = capacity
        return
      } catch {}
    }
    throw StorageError(.outOfMemory, "the process has no address space left")
  }

  /// Throws `outOfMemory` if the process cannot get `length` more bytes now. Afterwards other
  /// threads can still take them.
  package static func check(_ length: Int) throws(StorageError) {
    let (rounded, isTooLong) = UInt64(max(0, length)).addingReportingOverflow(65535)
    guard !isTooLong else { throw StorageError(.outOfMemory, "the process has no address space left") }
    _ = try MemoryRange(capacities: [max(rounded & ~65535, 65536)])
  }

  deinit { SystemCalls.unmap(base, length: Int(capacity)) }
}
