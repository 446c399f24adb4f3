import LatewoodBytes
import LatewoodConcurrency
import LatewoodFile
import LatewoodTree

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
  /// The versions that may still be read, whose buffer nodes are immutable.
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

  /// Publishes the same state with the base tree that includes its frozen buffer.
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
