import LatewoodBytes
import LatewoodConcurrency
import LatewoodDevice
import LatewoodTree

/// Short reads register with `readers`, and those of one key count no references; longer reads hold
/// a version.
extension Engine: ReadGate {
  func checkOpen() throws(StorageError) {
    if isClosed { throw Engine.closedError }
  }

  static var closedError: StorageError { StorageError(.closed, "the store has been closed") }

  var changeCount: Int { 0 }

  func currentReader() throws(StorageError) -> Reader {
    let version = try versions.current()
    return Reader(owner: version, gate: self, state: state(of: version))
  }

  func state(of version: Version) -> ReadState { state(of: version.pointers) }

  private func state(of pointers: UnsafePointer<VersionPointers>) -> ReadState {
    ReadState(
      view: pointers.pointee.reads, store: identity, known: pointers.pointee.known)
  }

  // MARK: Short reads

  func beginRead() throws(StorageError) -> ShortRead {
    try beginRead({ loadVersion($0) }, otherwise: { Engine.closedError })
  }

  /// Begins a short read of a version.
  ///
  /// - Parameters:
  ///   - load: returns the version for a registered reader. It is a closure because passing the
  ///     reference itself would count a reference to its owner, which all threads share.
  ///   - error: the error to throw if the version has been withdrawn.
  @inline(__always) func beginRead(
    _ load: (ReaderRegistry.Ticket) -> UnsafePointer<VersionPointers>?, otherwise error: () -> StorageError
  ) throws(StorageError) -> ShortRead {
    let ticket = readers.enter()
    guard let pointers = load(ticket) else {
      ticket.leave()
      throw error()
    }
    return ShortRead(state: state(of: pointers), ticket: ReadTicket(ticket))
  }

  /// Looks up a key in a version, and keeps the value valid until the end of the read.
  ///
  /// - Parameters:
  ///   - load: as for `beginRead`.
  ///   - error: the error to throw if the version has been withdrawn.
  @inline(__always) func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace,
    of load: (ReaderRegistry.Ticket) -> UnsafePointer<VersionPointers>?, otherwise error: () -> StorageError
  ) throws(StorageError) -> ValueInPlace {
    let ticket = readers.enter()
    guard let pointers = load(ticket) else {
      ticket.leave()
      throw error()
    }
    do throws(StorageError) {
      if !pointers.pointee.known._withUnsafeGuaranteedRef({ $0.contains(keyspace.fingerprint) }) {
        try state(of: pointers).check(keyspace)
      }
      let value = try FullKey.with(keyspace.id, key) { (full, count) throws(StorageError) in
        try pointers.pointee.reads.find(full, count)
      }
      return ValueInPlace(value, ReadTicket(ticket))
    } catch {
      ticket.leave()
      throw error
    }
  }
}
