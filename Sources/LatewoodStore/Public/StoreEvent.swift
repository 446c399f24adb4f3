/// An event in the background of a store, where no call of the program can return an error: see
/// ``Store/Options/onEvent``.
///
/// Later releases may add cases.
public enum StoreEvent: Sendable, Equatable {
  /// An automatic compaction has finished.
  case compactionFinished(CompactionReport)
  /// An automatic compaction has failed. Reads and writes continue, but the file keeps its dead
  /// space and grows until a compaction succeeds.
  case compactionFailed(CompactionFailure)
}

/// The failure of an automatic compaction.
public struct CompactionFailure: Sendable, Equatable {
  /// The reason. With the code `inputOutput` or `damaged`, live data cannot be read, so later
  /// attempts will probably fail as well: restore a backup, or save the readable data with
  /// `latewood salvage`.
  public var error: StoreError
  /// The number of automatic compactions that have failed in a row, including this one.
  public var attempts: Int
  /// The number of bytes of log that commits must write before the next attempt. It doubles with
  /// each failure. Nil after a failure while the store was closing: the next session tries again.
  public var bytesUntilRetry: UInt64?

  /// Creates the description of a failure.
  public init(error: StoreError, attempts: Int, bytesUntilRetry: UInt64?) {
    self.error = error
    self.attempts = attempts
    self.bytesUntilRetry = bytesUntilRetry
  }
}

extension Store.Options {
  /// A closure in the options. Options are compared by value, which a closure does not allow, so
  /// two of them are equal if one is a copy of the other.
  final class EventHandler: Sendable, Equatable {
    let call: @Sendable (StoreEvent) -> Void

    init(_ call: @escaping @Sendable (StoreEvent) -> Void) { self.call = call }

    static func == (left: EventHandler, right: EventHandler) -> Bool { left === right }
  }
}
