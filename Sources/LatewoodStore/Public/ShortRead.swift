import LatewoodConcurrency

/// A state for one short read, which must be ended. Not useful on its own.
public struct ShortRead {
  let state: ReadState
  let ticket: ReadTicket
}

/// A value in place, for one short read, which must be ended. Not useful on its own.
public struct FoundValue {
  /// The value; nil if there is no such key.
  @usableFromInline let bytes: UnsafeRawBufferPointer?
  @usableFromInline let ticket: ReadTicket

  init(_ bytes: UnsafeRawBufferPointer?, _ ticket: ReadTicket) {
    self.bytes = bytes
    self.ticket = ticket
  }
}

/// A ticket that ends a short read. Not useful on its own.
public struct ReadTicket {
  let registered: ReaderRegistry.Ticket
}
