import Synchronization

/// A range of addresses over a file: byte `n` of the file is at `base + n`.
///
/// It may cover more than the file has, and then shows what is appended later without being mapped
/// again. Only addresses below the current size of the file may be touched.
package final class AddressSpace: @unchecked Sendable {
  /// Where byte 0 of the file is.
  package let base: UnsafeRawPointer
  /// Bytes of file that the range covers.
  package let capacity: UInt64
  /// Two bits for each 64 bytes of capacity, zero at first; memory is taken only where bits are
  /// set.
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

  // SAFETY: the pointers never change, and whoever uses them holds a reference to this object.
  deinit { release(base, verified) }

  /// Clears all bits. Those that others set meanwhile may be cleared too.
  package func forgetProofs() {
    // SAFETY: the bitmap is a mapping of its own, and zeros in it say no more than that nothing is
    // known.
    SystemCalls.zeroPages(verified, length: AddressSpace.verifiedLength(for: capacity))
  }

  /// Sets the bits that are set in a smaller range over the same file. Others may set more in
  /// either meanwhile.
  package func copyProofs(of smaller: AddressSpace) {
    let words = AddressSpace.verifiedLength(for: min(capacity, smaller.capacity)) / 8
    // SAFETY: both bitmaps have so many words, and a zeroed word is a valid Atomic<UInt64>.
    let from = smaller.verified.assumingMemoryBound(to: Atomic<UInt64>.self)
    let to = verified.assumingMemoryBound(to: Atomic<UInt64>.self)
    for word in 0..<words {
      let bits = from[word].load(ordering: .relaxed)
      if bits != 0 { to[word].bitwiseOr(bits, ordering: .relaxed) }
    }
  }
}
