/// A checkpoint in the file: a complete state that can be opened as a snapshot.
public struct Checkpoint: Sendable, Equatable {
  /// The offset of its frame in the file.
  public var offset: UInt64
  /// The newest transaction in the checkpoint.
  public var transaction: UInt64
  /// The time of writing, in microseconds since 1970-01-01 00:00 UTC.
  public var time: UInt64
  /// The number of keys in all keyspaces, including the catalog.
  public var entries: UInt64
  /// The number of bytes in the nodes and large values that the checkpoint refers to.
  public var liveBytes: UInt64
  /// Whether a compaction or a copy wrote the checkpoint, as the first one in its file.
  public var isCompaction: Bool
  /// The first half of the id of its file.
  var fileID: UInt64
  /// Whether its previous checkpoint cannot be read, so that ``Store/history()`` ends here although
  /// older ones were written.
  public var isOlderLost = false
}
