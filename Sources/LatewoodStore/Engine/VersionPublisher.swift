import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// The newest published version of a store, and the creation of the next one.
///
/// A commit publishes itself, and everything before it, once the log is as durable as the commit
/// requires: written if it is relaxed, synced if it is synchronous. Nothing else publishes commits:
/// before a checkpoint or a compaction publishes the newest state in another form, every commit in
/// it is as durable as it requires. So everything that readers see is in the file, and no write
/// that fails for lack of space undoes it; and if all transactions are synchronous, everything that
/// readers see is durable. A relaxed commit waits for no sync: it also publishes earlier
/// synchronous ones whose sync is still running. If that sync fails, all writing ends, and the
/// published state stays visible until the store is closed.
///
/// Thread safety: all methods may be called from any thread.
final class VersionPublisher: Sendable {
  /// The newest version; none once the store is closed.
  private let newest: VersionReference
  /// The versions that may still be read, whose buffer nodes must not change.
  let registry = VersionRegistry()
  private let currentFile: CurrentFile

  init(_ currentFile: CurrentFile, readers: ReaderRegistry) {
    self.currentFile = currentFile
    newest = VersionReference(nil, readers: readers)
  }

  /// The newest version for a registered read; nil once the store is closed. Valid only until that
  /// read leaves.
  @inline(__always) func load(_ ticket: ReaderRegistry.Ticket) -> UnsafePointer<VersionPointers>? {
    newest.load(ticket)
  }

  /// Returns the newest version, retained; nil once the store is closed.
  func held() -> Version? { newest.held() }

  /// Returns the newest version, retained. Throws `closed`.
  func current() throws(StorageError) -> Version {
    guard let version = newest.held() else { throw Engine.closedError }
    return version
  }

  /// Publishes a committed state, unless a newer one is already published.
  func publish(_ head: Head) {
    newest.update { old in
      guard head.number > old.number else { return nil }
      return version(of: head, base: old.base, frozen: old.frozen, pin: old.pin)
    }
  }

  /// Publishes a state with another base tree, or another frozen buffer.
  func publish(_ head: Head, base: Subtree?, frozen: BufferState?, pin: BasePin?) {
    newest.update { _ in version(of: head, base: base, frozen: frozen, pin: pin) }
  }

  /// Publishes the recovered state.
  func start(with head: Head, base: Subtree?, pin: BasePin?) {
    newest.set(version(of: head, base: base, frozen: nil, pin: pin))
  }

  /// Publishes a state whose active buffer has become the frozen one.
  func publish(_ head: Head, freezing frozen: BufferState) {
    newest.update { old in version(of: head, base: old.base, frozen: frozen, pin: old.pin) }
  }

  /// Publishes the same state with the base tree into which its frozen buffer was merged.
  func publish(merged base: Subtree?, pin: BasePin?) {
    let file = currentFile.file
    newest.update { old in
      Version(
        number: old.number, transaction: old.transaction, base: base, active: old.active, frozen: nil,
        known: old.known, file: file.view, mapping: file.pin, registry: registry, pin: pin)
    }
  }

  /// Publishes a state again, with a view of everything written to the file.
  func publishAgain(_ head: Head) {
    newest.update { old in version(of: head, base: old.base, frozen: old.frozen, pin: old.pin) }
  }

  /// Withdraws the published version. Reads then throw `closed`.
  func close() { newest.clear() }

  private func version(
    of head: Head, base: Subtree?, frozen: BufferState?, pin: BasePin?
  ) -> Version {
    let file = currentFile.file
    return Version(
      number: head.number, transaction: head.transaction, base: base, active: head.active, frozen: frozen,
      known: head.known, file: file.view, mapping: file.pin, registry: registry, pin: pin)
  }
}

/// A reference to a version, or to none, that readers load without a lock and without counting
/// references.
///
/// Thread safety: any thread. A change that depends on the current version uses `update`, one
/// thread at a time; `clear` may come at any time.
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

  /// Replaces the version, unless the closure returns nil or there is none.
  func update(_ change: (_ old: Version) -> Version?) {
    let old = updating.withLock { () -> Unmanaged<Version>? in
      guard let old = held(), let next = change(old) else { return nil }
      return exchange(next)
    }
    if let old { readers.retire(old) }
  }

  /// Sets the version, whether or not there was one.
  func set(_ version: Version) {
    if let old = updating.withLock({ exchange(version) }) { readers.retire(old) }
  }

  /// Releases the version. Returns false if there was none.
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
