import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree
import Synchronization

/// A reference to a version, or to none, that readers load without a lock and without counting
/// references.
///
/// Thread safety: any thread.
// SAFETY: the memory at `pointer` never changes, and is freed only when no registered reader could
// have loaded its address.
struct VersionReference: ~Copyable, @unchecked Sendable {
  /// The address of the version's pointers. This owns one reference to its version.
  private let pointer: Atomic<UnsafePointer<VersionPointers>?>
  private let readers: ReaderRegistry

  init(_ version: Version?, readers: ReaderRegistry) {
    pointer = Atomic(Self.retained(version))
    self.readers = readers
  }

  deinit { pointer.load(ordering: .acquiring)?.pointee.version.release() }

  /// The version for a registered read. It is valid only until that read leaves.
  @inline(__always) func load(_ ticket: ReaderRegistry.Ticket) -> UnsafePointer<VersionPointers>? {
    let pointers = pointer.load(ordering: .sequentiallyConsistent)
    if let pointers { ticket.uses(pointers.pointee.version.toOpaque()) }
    return pointers
  }

  var isClear: Bool { pointer.load(ordering: .relaxed) == nil }

  /// Returns the version, retained for the caller.
  func held() -> Version? {
    let ticket = readers.enter()
    defer { ticket.leave() }
    return load(ticket)?.pointee.version.takeUnretainedValue()
  }

  /// Releases the version. Returns false if it was already empty.
  func clear() -> Bool {
    guard let old = exchange(nil) else { return false }
    readers.retire(old)
    return true
  }

  /// Refers to another version from now on. Returns the old one, with the reference that readers
  /// may still use: the caller must retire it, outside of locks.
  func exchange(_ next: Version?) -> Unmanaged<Version>? {
    pointer.exchange(Self.retained(next), ordering: .sequentiallyConsistent)?.pointee.version
  }

  private static func retained(_ version: Version?) -> UnsafePointer<VersionPointers>? {
    version.map { Unmanaged.passRetained($0).takeUnretainedValue().pointers }
  }
}
