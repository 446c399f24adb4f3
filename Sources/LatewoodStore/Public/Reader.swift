import LatewoodBytes
import LatewoodDevice

/// The state that a ``Readable`` object reads. Only the library uses it.
public struct ReadOrigin {
  let source: any ReadGate

  init(_ source: any ReadGate) { self.source = source }
}

/// A state of the database, pinned by a counted reference.
struct Reader {
  /// The owner of the memory that `state` points into.
  let owner: AnyObject
  /// The pin on read memory, if the file is read through a cache. Nil if the file is mapped, or if
  /// each read is registered separately.
  private(set) var pin: CachePin?
  /// Checks whether reading is still allowed.
  let gate: any ReadGate
  let state: ReadState
  /// Whether `state` belongs to a transaction, whose next change may reuse the same memory.
  let isOfTransaction: Bool

  init(owner: AnyObject, gate: any ReadGate, state: ReadState) {
    self.owner = owner
    self.gate = gate
    self.state = state
    pin = state.view.pin()
    isOfTransaction = gate.lendsMemoryThatChanges
  }

  /// A copy of this reader without a pin, for a caller that registers for each read.
  var withoutPin: Reader {
    var reader = self
    reader.pin = nil
    return reader
  }

  /// The path of the file. Not stored, because only errors need it and each read copies a reader.
  var path: String? { gate.path }

  /// Runs a closure that uses bytes in place. Until it returns, a transaction refuses changes.
  @discardableResult
  func borrowing<R>(_ body: () throws -> R) rethrows -> R {
    // The closure may not use this reader, so keep its owner alive until the end.
    defer { withExtendedLifetime(owner) {} }
    guard isOfTransaction else { return try body() }
    gate.beginBorrow()
    defer { gate.endBorrow() }
    return try body()
  }
}

/// An object that can be read. A cursor may outlive the validity of the object that it was created
/// from, so it checks before each step.
protocol ReadGate: AnyObject {
  /// Throws `closed`, `snapshotClosed` or `transactionFinished` after the end of the object.
  func checkOpen() throws(StorageError)
  /// A number that changes with every operation of a transaction, so that its cursors know when to
  /// find their positions again.
  var changeCount: Int { get }
  /// Returns the state to read, pinned for the lifetime of the reader.
  func currentReader() throws(StorageError) -> Reader
  /// Returns the state to read, valid until the ticket is ended. Cheaper than `currentReader`.
  func beginRead() throws(StorageError) -> ShortRead
  /// The path of the file; nil if the store has none.
  var path: String? { get }
  /// Whether bytes that were read in place may change with the next operation.
  var lendsMemoryThatChanges: Bool { get }
  func beginBorrow()
  func endBorrow()
}

extension ReadGate {
  var lendsMemoryThatChanges: Bool { false }
  func beginBorrow() {}
  func endBorrow() {}
}
