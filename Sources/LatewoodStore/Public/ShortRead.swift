import LatewoodConcurrency

/// A state for one short read, which the caller must end. Not useful on its own.
public struct ShortRead {
  let state: ReadState
  let ticket: ReadTicket
}

/// A value in place, for one short read, which the caller must end. Not useful on its own.
public struct ValueInPlace {
  /// The value; nil if the key does not exist.
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
