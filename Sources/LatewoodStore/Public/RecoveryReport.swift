/// The result of recovery when a file was opened.
public struct RecoveryReport: Sendable, Equatable {
  /// The number of the newest transaction.
  public var transaction: UInt64 = 0
  /// The newest transaction of the checkpoint that recovery started from; 0 if there was none.
  public var checkpointTransaction: UInt64 = 0
  /// The number of transactions applied from the log after that checkpoint.
  public var replayedTransactions = 0
  /// The number of bytes of log that were read to apply them.
  public var replayedBytes: UInt64 = 0
  /// The skipped range of the file with the remains of writes that were never acknowledged; nil
  /// after a clean close.
  public var tornTail: Range<UInt64>?
}
