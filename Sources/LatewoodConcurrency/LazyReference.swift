import Synchronization

/// A reference that is set at most once, and read without a lock.
///
/// Like `AtomicLazyReference` of the Synchronization module, whose functions look up the metadata
/// of the object's type in every call. That lookup takes longer than everything else.
///
/// Thread safety: all calls from any thread.
// SAFETY: the bits are 0, or a reference to an object that this value owns as long as it exists.
@usableFromInline package struct LazyReference<Instance: AnyObject & Sendable>: ~Copyable, Sendable {
  @usableFromInline let bits = Atomic<UInt>(0)

  @inlinable package init() {}

  @inlinable deinit { LazyReference.reference(bits.load(ordering: .acquiring))?.release() }

  /// The object; nil until one has been stored.
  @inlinable package var value: Instance? {
    LazyReference.reference(bits.load(ordering: .acquiring))?.takeUnretainedValue()
  }

  /// Stores an object unless one is already stored. Returns the object that is then stored.
  @inlinable package func storeIfNil(_ new: Instance) -> Instance {
    let reference = Unmanaged.passRetained(new)
    let (isStored, found) = bits.compareExchange(
      expected: 0, desired: UInt(bitPattern: reference.toOpaque()), ordering: .acquiringAndReleasing)
    if isStored { return new }
    reference.release()
    return LazyReference.reference(found)?.takeUnretainedValue() ?? new
  }

  @inlinable static func reference(_ bits: UInt) -> Unmanaged<Instance>? {
    UnsafeRawPointer(bitPattern: bits).map { Unmanaged.fromOpaque($0) }
  }
}
