import LatewoodBytes
import Synchronization

/// A range of addresses over a file: byte `n` of the file is at `base + n`.
///
/// It may be larger than the file, and then shows bytes that are appended later without remapping.
/// Only addresses below the current size of the file may be accessed.
package final class AddressSpace: @unchecked Sendable {
  /// The address of byte 0 of the file.
  package let base: UnsafeRawPointer
  /// The number of bytes of the file that the range covers.
  package let capacity: UInt64
  /// A bitmap with two bits for each 64 bytes of capacity, initially zero. It takes memory only
  /// where bits are set.
  package let verified: UnsafeMutableRawPointer
  private let release: @Sendable (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void

  package init(
    base: UnsafeRawPointer, capacity: UInt64, verified: UnsafeMutableRawPointer,
    release: @escaping @Sendable (UnsafeRawPointer, UnsafeMutableRawPointer) -> Void
  ) {
    self.base = base
    self.capacity = capacity
    self.verified = verified
    self.release = release
  }

  // SAFETY: the pointers never change, and every user of them holds a reference to this object.
  deinit { release(base, verified) }

  /// The number of bytes of the file that are made readable together; divides `capacity`.
  package static var windowLength: UInt64 { 64 << 10 }

  /// A bitmap with two bits for each window of the file, initially zero: whether the window was
  /// made readable, and whether only part of it could be.
  package var windows: UnsafeMutableRawPointer {
    verified + AddressSpace.verifiedLength(for: capacity)
  }

  /// Clears all bits. Bits that other threads set during the call may be cleared, too.
  package func clearProofs() {
    // SAFETY: the bitmaps are a separate mapping, and a zero only means that nothing is known.
    SystemCalls.zeroPages(verified, length: AddressSpace.proofLength(for: capacity))
  }

  /// Sets the bits that are set in a smaller range over the same file. Other threads may set more
  /// bits in either bitmap during the call.
  package func mergeProofs(from smaller: AddressSpace) {
    let words = AddressSpace.verifiedLength(for: min(capacity, smaller.capacity)) / 8
    // SAFETY: both bitmaps have this many words, and a zeroed word is a valid Atomic<UInt64>.
    let from = smaller.verified.assumingMemoryBound(to: Atomic<UInt64>.self)
    let to = verified.assumingMemoryBound(to: Atomic<UInt64>.self)
    for word in 0..<words {
      let bits = from[word].load(ordering: .relaxed)
      if bits != 0 { to[word].bitwiseOr(bits, ordering: .relaxed) }
    }
  }
}

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

/// The number of addresses to reserve for a growing file.
package enum Reservation {
  /// The minimum capacity for a file, in bytes. Capacities are multiples of `step`.
  package static let least: UInt64 = 1 << 20
  private static let step: UInt64 = 64 << 10
  /// The maximum length of a file on ext4. Current processes have addresses for eight such files.
  private static let limit: UInt64 = 1 << 44

  /// Returns the capacities to try in turn until the system grants one: first one that lets the
  /// file grow by a quarter, then the minimum that suffices. Empty if the file is longer than 16
  /// TiB.
  ///
  /// - Parameters:
  ///   - end: the number of bytes of the file that must be covered.
  ///   - ahead: the number of bytes after the end that must also be covered.
  ///   - isRepeated: whether the file has outgrown a range that it keeps. If so, the first capacity
  ///     is a power of two, so that all older ranges together take no more addresses than the
  ///     newest.
  package static func capacities(
    covering end: UInt64, ahead: UInt64 = 0, isRepeated: Bool = false
  ) -> [UInt64] {
    guard end < limit, ahead < limit else { return [] }
    let needed = end + ahead
    let wanted = max(needed + needed / 4, least)
    let power = UInt64(1) << UInt64(UInt64.bitWidth - (wanted - 1).leadingZeroBitCount)
    let rounded = [wanted, needed].map { max(step, ($0 + step - 1) & ~(step - 1)) }
    return isRepeated ? [power] + rounded.filter { $0 < power } : rounded
  }
}
