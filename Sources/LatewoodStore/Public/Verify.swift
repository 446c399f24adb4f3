import LatewoodBytes
import LatewoodTree

/// A fault that a verification found in the file.
public struct VerifyFault: Sendable, Equatable {
  /// The offset in the file.
  public var offset: UInt64
  /// A description of the fault, in one sentence.
  public var what: String
  /// `inputOutput` if the device could not read the bytes.
  package var kind = StorageError.Kind.damaged
}

/// The progress of a verification.
public struct VerifyProgress: Sendable, Equatable {
  /// The number of bytes of nodes, large values and log checked so far.
  public var bytesChecked: UInt64
  /// The number of bytes of nodes, large values and log to check.
  public var bytesTotal: UInt64
}

/// Nonzero bytes after the last complete frame of the log.
public struct TornTail: Sendable, Equatable {
  /// The range of the bytes, up to the end of the file or to the offset at which the log continues.
  public var range: Range<UInt64>
  /// Whether the file records durable commits in this range; the range is then also among the
  /// faults. If false, the bytes are the remains of the last commits before a crash, a power cut or
  /// a full disk, or of a truncated copy. Everything that the file records as durable is before
  /// them, and readers and writers skip them. (The durability of an acknowledged commit is recorded
  /// by later writes, at the latest when the store is closed or has been idle.)
  public var isDamage: Bool
}

/// The result of ``Store/verify(progress:)``.
public struct VerifyReport: Sendable, Equatable {
  /// The maximum number of faults to keep. A crafted file can contain as many faults as entries.
  static let faultLimit = 10_000

  /// The faults by offset; at most 10,000 are kept.
  public var faults: [VerifyFault] = []
  /// The number of nodes of the tree.
  public var nodes: UInt64 = 0
  /// The number of entries in the tree, including the catalog.
  public var entries: UInt64 = 0
  /// The number of large values.
  public var extents: UInt64 = 0
  /// The number of log frames after the newest checkpoint.
  public var frames: UInt64 = 0
  /// The number of bytes of nodes, large values and log that were checked.
  public var bytesChecked: UInt64 = 0
  /// The transaction whose state was checked.
  public var transaction: UInt64 = 0
  /// The torn tail after the log; nil if the log is followed by nothing but zeros, and in a
  /// read-only store while another process writes to the file.
  public var tornTail: TornTail?

  /// Whether the verification found no faults. A torn tail that is not damage does not count.
  public var isSound: Bool { faults.isEmpty }
}

extension Store {
  /// Reads and checks everything that the newest state refers to: checksums, order of keys,
  /// separators, counts, live bytes, extents within the file, no overlaps; header, root slots, and
  /// the log that reads still need; and, unless the log is damaged, that the catalog of keyspaces
  /// is consistent and lists all keyspaces with entries.
  ///
  /// Reads the disk instead of the system's cache where the system supports that (Linux, except for
  /// file systems in memory). A block that cannot be read is a fault like any other. Reads and
  /// writes continue during the verification. O(size of the live data).
  ///
  /// - Parameter progress: called regularly.
  /// - Returns: a report with all faults by offset. Faults are not thrown.
  /// - Throws: ``StoreError`` `closed`, `inputOutput`.
  public func verify(progress: ((VerifyProgress) -> Void)? = nil) throws -> VerifyReport {
    do { return try engine.verify(progress) } catch { throw StoreError(error, path: engine.path) }
  }
}
