import LatewoodBytes

/// One state of the database behind a pointer, for a layer that reads several things of it: its
/// reader is not copied for each.
///
/// Not for the state of a transaction, whose memory changes. Thread safety: as that of what the
/// reader was made from.
package final class HeldState: Readable {
  private let reader: Reader

  package init(_ reader: Reader) {
    precondition(!reader.isOfTransaction, "what a transaction reads is lent, not held")
    self.reader = reader
  }

  public func _reader() throws(StoreError) -> Reader { reader }
  public func _begin() throws(StoreError) -> ShortRead {
    ShortRead(state: reader.state, ticket: ReadTicket(registered: .none))
  }
  public func _end(_ ticket: ReadTicket) {}
  public var _path: String? { reader.path }

  /// The value of a key. The bytes are valid as long as this is kept. O(log n).
  package func find(
    _ key: UnsafeRawBufferPointer, in keyspace: Keyspace
  ) throws(StoreError) -> UnsafeRawBufferPointer? {
    do { return try reader.state.find(key, in: keyspace) } catch { throw StoreError(error, path: _path) }
  }
}
