import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree
import Synchronization

/// The newest published version of a store, and the creation of the next one.
///
/// A commit publishes itself, and everything before it, once the log is as durable as the commit
/// requires: written for a relaxed commit, synced for a synchronous one. Only commits publish
/// commits. Before a checkpoint or a compaction publishes the newest state in another form, every
/// commit in that state is as durable as it requires. So everything that readers see is in the
/// file, and a write that fails for lack of space never undoes it. If all transactions are
/// synchronous, everything that readers see is durable. A relaxed commit does not wait for a sync:
/// it also publishes earlier synchronous commits whose sync is still running. If that sync fails,
/// all writing ends, and the published state stays visible until the store is closed.
///
/// Thread safety: all methods may be called from any thread.
final class VersionPublisher: Sendable {
  /// The newest version; empty once the store is closed.
  private let newest: VersionReference
  /// The versions that may still be read, whose buffer nodes are immutable. Its lock is held from
  /// the look at the newest version until the next one is published.
  private let live = Guarded(LiveVersions())
  /// Whether the store is closed. Set with the lock of `live` held.
  private let closed = Atomic<Bool>(false)
  private let currentFile: CurrentFile
  private let readers: ReaderRegistry

  init(_ currentFile: CurrentFile, readers: ReaderRegistry) {
    self.currentFile = currentFile
    self.readers = readers
    newest = VersionReference(nil, readers: readers)
  }

  // MARK: Reading

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

  /// The numbers of all live versions, ascending. O(live versions).
  var liveNumbers: [UInt64] { live.withLock { $0.numbers } }

  /// Returns `liveNumbers`, or nil in O(1) if there may be more than `most`.
  func live(lookingAtMost most: Int) -> [UInt64]? { live.withLock { $0.numbers(lookingAtMost: most) } }

  // MARK: Publishing

  /// Publishes a committed state, unless a newer one is already published.
  ///
  /// - Parameter file: the file that it was committed to.
  func publish(_ head: Head, in file: DatabaseFile) {
    update { old, live in
      guard head.number > old.number else { return nil }
      return old.followed(
        by: head.number, transaction: head.transaction, active: head.active, known: head.known, in: file.view,
        life: live.add(head.number))
    }
  }

  /// Publishes a state with another base tree, or the first state, unless the store is closed.
  func publish(_ head: Head, base: Subtree?, pin: BasePin?) {
    retire(
      live.withLock { live in
        if closed.load(ordering: .relaxed) { return nil }
        return newest.exchange(version(of: head, base: base, frozen: nil, pin: pin, &live))
      })
  }

  /// Publishes a state whose active buffer has become the frozen one.
  func publish(_ head: Head, freezing frozen: BufferState) {
    update { old, live in version(of: head, base: old.base, frozen: frozen, pin: old.pin, &live) }
  }

  /// Publishes the same state with the base tree that includes its frozen buffer.
  func publish(merged base: Subtree?, pin: BasePin?) {
    update { old, live in
      let state = Head(number: old.number, transaction: old.transaction, active: old.active, known: old.known)
      return version(of: state, base: base, frozen: nil, pin: pin, &live)
    }
  }

  /// Withdraws the published version. Reads then throw `closed`.
  func close() {
    retire(
      live.withLock { _ in
        closed.store(true, ordering: .relaxed)
        return newest.exchange(nil)
      })
  }

  /// Replaces the newest version, unless the closure returns nil or there is no version.
  private func update(_ next: (_ old: Version, _ live: inout LiveVersions) -> Version?) {
    retire(
      live.withLock { live in
        guard let old = newest.held(), let next = next(old, &live) else { return nil }
        return newest.exchange(next)
      })
  }

  /// Releases a version once no reader can use it: outside of the lock, because releasing the last
  /// reference to a file closes it.
  private func retire(_ old: Unmanaged<Version>?) {
    if let old { readers.retire(old) }
  }

  private func version(
    of head: Head, base: Subtree?, frozen: BufferState?, pin: BasePin?, _ live: inout LiveVersions
  ) -> Version {
    let file = currentFile.file
    return Version(
      number: head.number, transaction: head.transaction, base: base, active: head.active, frozen: frozen,
      known: head.known, file: file.view, mapping: file.pin, life: live.add(head.number), pin: pin)
  }
}

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

  /// Replaces the version. Returns the old one, with the reference that readers may still use: the
  /// caller must retire it, outside of locks.
  func exchange(_ next: Version?) -> Unmanaged<Version>? {
    pointer.exchange(Self.retained(next), ordering: .sequentiallyConsistent)?.pointee.version
  }

  private static func retained(_ version: Version?) -> UnsafePointer<VersionPointers>? {
    version.map { Unmanaged.passRetained($0).takeUnretainedValue().pointers }
  }
}
