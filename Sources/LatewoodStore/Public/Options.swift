import LatewoodDevice
import LatewoodFile

extension Store {
  /// The mode in which a store is opened.
  public enum OpenMode: Sendable, Equatable {
    /// Opens for writing; creates the file if it does not exist.
    case openOrCreate
    /// Opens for writing; the file must exist.
    case openExisting
    /// Creates the file and opens it for writing; the file must not exist.
    case createNew
    /// Opens for reading only; another process may be writing. See ``Store/refresh()``.
    case readOnly
  }

  /// The way in which a store reads its file.
  public enum Reading: Sendable, Equatable {
    /// The file is mapped if that is possible and safe, and read through a cache of 64 MiB if not.
    ///
    /// It is not mapped if the system refuses to map it when it is opened, or if it is known to be
    /// on another machine or in a file system served by a process (NFS, SMB, 9P, FUSE and similar
    /// ones). A removable disk is not recognized.
    case automatic
    /// The file is mapped. This is the fastest way, and the system can reclaim the memory. If the
    /// system then has to read a page again that the disk or the network can no longer deliver, the
    /// process ends.
    ///
    /// Once the file takes more than the memory of the machine, or of the process's control group,
    /// random reads make the system read only the pages that they need, without reading ahead.
    case mapped
    /// The file is read into a bounded cache in memory: for removable disks, networks, and systems
    /// that do not map files. A failure throws an error in the read that needed the bytes, and
    /// never ends the process.
    ///
    /// The limit of the cache is `cacheBytes` for each open file, but at least 1 MiB. More memory
    /// is needed for commits that no checkpoint has merged yet (see
    /// ``Store/Options/writeBufferBudget``), and for all data that is read while a closure uses a
    /// value, a checkpoint runs, or ``Snapshot/changes(since:in:_:)`` compares two states: the
    /// cache does not release memory until these end. A scan passes copies of values of up to 64
    /// KiB to its closure, so that closure may run for a long time.
    ///
    /// Values of more than a quarter of the cache are verified at every read. Address space is
    /// reserved in proportion to the file, as for a mapping. If the process does not have enough,
    /// opening throws `outOfMemory`.
    case buffered(cacheBytes: Int)

    #if DEBUG
      /// The default, which tests can replace with a cache that is too small for their files.
      static let usual =
        CurrentProcess.environmentVariable("LATEWOOD_READING") == "buffered"
        ? Reading.buffered(cacheBytes: 1 << 20) : .automatic
    #else
      static let usual = Reading.automatic
    #endif

    var ofFile: FileReading {
      switch self {
      case .automatic: .automatic
      case .mapped: .mapped
      case .buffered(let length): .buffered(cacheBytes: max(length, 1 << 20))
      }
    }
  }

  /// The settings of an open store. They are not stored in the file; each open may choose others.
  public struct Options: Sendable, Equatable {
    /// The durability of transactions that do not specify one. Default: `.synchronous`.
    public var durability = Durability.synchronous
    /// The size of a full tree node, in bytes; 1,024 to 32,768. Default: 8,192.
    public var nodeSize = 8192
    /// The maximum length of a value, in bytes, that is copied into the tree; 64 to 2,048. Longer
    /// values stay where the commit wrote them. Default: 512.
    public var inlineValueLimit = 512
    /// The number of bytes of log after which a checkpoint is written; at least 65,536. A greater
    /// budget makes writes cheaper, but recovery after a crash slower, and needs more memory.
    /// Default: 64 MiB.
    public var writeBufferBudget = 64 << 20
    /// The permissions of a new file. Default: 0600, only for the owner.
    public var permissions: UInt16 = 0o600
    /// Whether checkpoints run automatically on a background queue. If false, they run only on
    /// close and when ``Store/checkpoint()`` is called. Default: true.
    public var checkpointsInBackground = true
    /// The policy for automatic compactions. Default: see ``CompactionPolicy``.
    public var compaction = CompactionPolicy()
    /// Whether unused parts of the file are returned to the file system after checkpoints, if it
    /// supports that (Linux and Apple systems). The file then has holes and takes less space on the
    /// disk than its size. Space is not returned while another process has the file open or this
    /// process has it open a second time, nor is space that an open snapshot needs. If false, the
    /// store does not keep blocks in reserve for freeing a full disk, either. Default: true.
    public var punchesHoles = true
    /// The number of checkpoints, including the newest, that stay complete for ``Store/history()``
    /// and ``Store/snapshot(asOf:)``; at least 1. Under random overwrites each takes about as much
    /// space as all live data. If space is never returned, all stay complete. Default: 1.
    public var wholeCheckpoints = 1
    /// The time, in seconds, after which the checksum of a tree node or large value is compared
    /// again when it is read. Until then verified bytes are trusted and read at the speed of
    /// memory. After that, bytes that the disk has changed cause an error instead of a wrong
    /// result. With 0, verified bytes are trusted as long as the store is open. If the file is
    /// larger than the memory, verified bytes are trusted for at most a second. Default: 300.
    ///
    /// This does not affect ``Store/verify(progress:)``, which reads the disk, or compactions and
    /// copies, which verify everything they write.
    public var checksumLifetime = 300.0
    /// The way in which the file is read. A database in memory ignores it. Default:
    /// ``Reading/automatic``.
    public var reading = Reading.usual
    /// The longest time for which an open for writing waits if another process, or this one, has
    /// the database open for writing. Waiting opens get it in the order in which they arrived. When
    /// the time is over, the error names the process that has it, if the system reports it.
    /// Default: 0, because a program that keeps its database open would make others wait for
    /// nothing.
    ///
    /// The wait blocks the thread. It does not include the time that opening takes afterwards, and
    /// deleting, copying and backing up do not wait.
    public var lockTimeout = Duration.zero
    /// A closure that receives the events in the background of the store, for logs and alerts. It
    /// does not change what the store does. Default: nil.
    ///
    /// It is called on the queue of automatic compactions, one event at a time, and the next
    /// compaction waits until it returns. No lock is held, so it may use the store in every way:
    /// read, write, compact and close it. The event of a compaction that ``Store/close()`` needed
    /// arrives after the store has been closed, perhaps after `close` has returned.
    ///
    /// The store keeps the closure. A closure that uses the store must hold a weak reference to it,
    /// or the store is not closed with the program's last reference.
    public var onEvent: (@Sendable (StoreEvent) -> Void)? {
      get { eventHandler?.call }
      set { eventHandler = newValue.map(EventHandler.init) }
    }
    var eventHandler: EventHandler?
    /// Whether a file that exceeds the bounds of ``CompactionPolicy`` is compacted when it is
    /// closed, even if no other compaction is automatic: for programs with many short sessions.
    package var keepsBoundsWhenClosed = false
    /// The key of an encrypted file. A file that is created with a key is encrypted; an existing
    /// one opens only with its key: without it, opening throws `keyNeeded`, with another one
    /// `wrongKey`, and with a key for a file that is not encrypted `notEncrypted`. Default: nil.
    ///
    /// The store does not keep the key. An encrypted file is never mapped: it is read through a
    /// cache with the decrypted bytes, of the size that ``reading`` states, or else 64 MiB. A
    /// database in memory is not encrypted.
    public var encryptionKey: EncryptionKey? = NewEncryption.usual?.key
    /// The ciphers of a file that this store encrypts: a new one, or the one that
    /// ``Store/changeEncryptionKey(to:renewingFileKey:)`` encrypts. An existing file states its
    /// own. Default: `.aes256`. `.chaCha20` is about twice as fast.
    public var cipherSuite: CipherSuite = NewEncryption.usual?.suite ?? .aes256
    /// A state from which the state of an encrypted file must descend: an anchor that
    /// ``Store/anchor()`` returned earlier. Opening throws `rolledBack` if the file is an older
    /// copy, or a copy that was written to separately since before the anchor, or if the file does
    /// not remember the anchor because it has given 32 others since; `notFound` if there is no
    /// file, in every mode; and `notEncrypted` if the file is not encrypted, because it then cannot
    /// prove anything. Default: nil, any state.
    ///
    /// A read-only store also checks this in ``Store/refresh()``, against the newest anchor that it
    /// has seen.
    public var expectedAnchor: StateAnchor?
    /// How a new file is encrypted, and the key of an existing one; nil for a file that is not
    /// encrypted.
    package var encryption: NewEncryption? {
      get {
        encryptionKey.map { NewEncryption($0, suite: cipherSuite) }
      }
      set {
        encryptionKey = newValue?.key
        cipherSuite = newValue?.suite ?? cipherSuite
      }
    }
    /// The minimum number of dead bytes that are worth two syncs and a root slot.
    package var punchingThreshold: UInt64 = 1 << 20

    /// Creates the default options.
    public init() {}

    /// These options with every setting clamped to its range.
    var clamped: Options {
      var options = self
      options.nodeSize = min(max(nodeSize, 1024), 32768)
      options.inlineValueLimit = min(max(inlineValueLimit, 64), 2048)
      options.writeBufferBudget = min(max(writeBufferBudget, 65536), Int.max / 8)
      options.compaction.deadShare = min(max(compaction.deadShare, 0.05), 0.95)
      options.compaction.urgentDeadShare = min(
        max(compaction.urgentDeadShare, options.compaction.deadShare), 0.95)
      options.compaction.quietTime = max(compaction.quietTime, 0)
      options.checksumLifetime = max(checksumLifetime, 0)
      options.wholeCheckpoints = max(wholeCheckpoints, 1)
      options.lockTimeout = max(lockTimeout, .zero)
      return options
    }
  }
}

/// The guarantee of a commit when its call returns.
public enum Durability: Sendable, Equatable {
  /// The transaction survives a power cut when the call returns, and so does everything committed
  /// before it, even if it did not change anything itself. Costs one sync, shared with transactions
  /// that commit at the same time.
  case synchronous
  /// The transaction survives a crash of the process when the call returns. A power cut may lose
  /// the newest transactions: always a suffix of the commits, never one from the middle.
  case relaxed
}
