import LatewoodBytes
import LatewoodConcurrency
import LatewoodTree
import Synchronization

/// A reference to a version, or to none, that readers load without a lock and without counting
/// references.
///
/// Thread safety: any thread. A change that depends on the current version uses `update`, one
/// thread at a time; `clear` may be called at any time.
// SAFETY: the memory at `pointer` never changes, and is freed only when no registered reader could
// have loaded its address.
struct VersionReference: ~Copyable, @unchecked Sendable {
  /// The address of the version's pointers. This owns one reference to its version.
  private let pointer: Atomic<UnsafePointer<VersionPointers>?>
  private let readers: ReaderRegistry
  private let updating = Monitor()

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

  /// Replaces the version, unless the closure returns nil or there is no version.
  func update(_ change: (_ old: Version) -> Version?) {
    let old = updating.withLock { () -> Unmanaged<Version>? in
      guard let old = held(), let next = change(old) else { return nil }
      return exchange(next)
    }
    if let old { readers.retire(old) }
  }

  /// Sets the version, whether or not one existed before.
  func set(_ version: Version) {
    if let old = updating.withLock({ exchange(version) }) { readers.retire(old) }
  }

  /// Releases the version. Returns false if it was already empty.
  @discardableResult func clear() -> Bool {
    guard let old = updating.withLock({ exchange(nil) }) else { return false }
    readers.retire(old)
    return true
  }

  private func exchange(_ next: Version?) -> Unmanaged<Version>? {
    pointer.exchange(Self.retained(next), ordering: .sequentiallyConsistent)?.pointee.version
  }

  private static func retained(_ version: Version?) -> UnsafePointer<VersionPointers>? {
    version.map { Unmanaged.passRetained($0).takeUnretainedValue().pointers }
  }
}
