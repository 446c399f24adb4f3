extension Store {
  /// How a store is opened.
  public enum OpenMode: Sendable, Equatable {
    /// For writing; a file that does not exist is created.
    case openOrCreate
    /// For writing; the file must exist.
    case openExisting
    /// For writing; the file must not exist.
    case createNew
    /// For reading only, beside a process that may be writing. See ``Store/refresh()``.
    case readOnly
  }

  /// Settings of an open store. None of them is kept in the file; each open may choose anew.
  public struct Options: Sendable, Equatable {
    /// Of transactions that do not say otherwise. Default: `.synchronous`.
    public var durability = Durability.synchronous
    /// Bytes of a full tree node; 1,024 to 32,768. Default: 8,192.
    public var nodeSize = 8192
    /// Values longer than this are not copied into the tree but stay where the commit wrote them;
    /// 64 to 1,024 bytes. Default: 512.
    public var inlineValueLimit = 512
    /// Bytes of log that a checkpoint gathers; more makes writes cheaper, recovery after a crash
    /// longer, and takes more memory. At least 65,536. Default: 64 MiB.
    public var writeBufferBudget = 64 << 20
    /// Permissions of a new file. Default: 0600, the owner alone.
    public var permissions: UInt16 = 0o600
    /// Whether checkpoints run by themselves on a background queue. If false, they run only on
    /// close and when ``Store/checkpoint()`` is called. Default: true.
    public var checkpointsInBackground = true
    /// When the file is compacted by itself. Default: see ``CompactionPolicy``.
    public var compaction = CompactionPolicy()
    /// Whether parts of the file that nothing needs any more are given back to the file system
    /// after checkpoints, where it can do that (Linux and Apple systems). The file then has holes:
    /// it takes less space on the disk than its size says. Nothing is given back while another
    /// process has the file open, or this one a second time; and nothing that an open snapshot
    /// shows. Default: true.
    public var punchesHoles = true
    /// How many checkpoints, the newest among them, stay whole for ``Store/history()`` and
    /// ``Store/snapshot(asOf:)``, at least 1. Under random overwrites each takes about as much
    /// space as all live data. If nothing is given back, all stay. Default: 1.
    public var wholeCheckpoints = 1
    /// Seconds after which checksums of tree nodes and large values are compared again when these
    /// are read: a disk that changes what it has given once is found out, by then, by an error in
    /// place of wrong bytes. Between, what was compared is trusted, and read at the speed of
    /// memory. 0 trusts it as long as the store is open. Default: 300.
    ///
    /// Whatever this says, ``Store/verify(progress:)`` reads the disk, and a compaction or a copy
    /// compares all that it writes.
    public var checksumLifetime = 300.0
    /// Bytes that are worth two syncs and a root slot.
    package var punchingThreshold: UInt64 = 1 << 20

    public init() {}

    /// The same with every setting brought into its range.
    var clamped: Options {
      var options = self
      options.nodeSize = min(max(nodeSize, 1024), 32768)
      options.inlineValueLimit = min(max(inlineValueLimit, 64), 1024)
      options.writeBufferBudget = max(writeBufferBudget, 65536)
      options.compaction.deadShare = min(max(compaction.deadShare, 0.05), 0.95)
      options.compaction.urgentDeadShare = min(
        max(compaction.urgentDeadShare, options.compaction.deadShare), 0.95)
      options.compaction.quietTime = max(compaction.quietTime, 0)
      options.checksumLifetime = max(checksumLifetime, 0)
      options.wholeCheckpoints = max(wholeCheckpoints, 1)
      return options
    }
  }
}
