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
