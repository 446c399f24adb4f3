import LatewoodBytes

/// One state of the database behind a reference, for a layer that reads several values of it
/// without copying the reader each time.
///
/// Not for the state of a transaction, whose memory changes. Thread safety: the same as that of the
/// object the reader was made from.
package final class HeldState: Readable {
  private let reader: Reader

  package init(_ reader: Reader) {
    precondition(!reader.isOfTransaction, "what a transaction reads is lent, not held")
    self.reader = reader.withoutHold
  }

  public func _reader() throws(StoreError) -> Reader { reader.another }
  public func _begin() throws(StoreError) -> ShortRead {
    ShortRead(state: reader.state, ticket: ReadTicket(registered: reader.state.view.enter()))
  }
  public func _end(_ ticket: ReadTicket) { ticket.registered.leave() }
  public var _path: String? { reader.path }

  /// Calls a closure that may call `find`.
  @inline(__always) package func reading<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    let ticket = reader.state.view.enter()
    defer { ticket.leave() }
    return try body()
  }

  /// Returns the value of a key, or nil. The bytes are valid until the closure of `reading`
  /// returns. O(log n).
  package func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    do { return try reader.state.find(key, in: keyspace) } catch { throw StoreError(error, path: _path) }
  }
}
