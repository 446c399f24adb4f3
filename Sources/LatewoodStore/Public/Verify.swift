import LatewoodBytes
import LatewoodTree

/// Something in the file that is not as it must be.
public struct VerifyFault: Sendable, Equatable {
  /// In the file.
  public var offset: UInt64
  /// One sentence.
  public var what: String
}

/// How far a verification is.
public struct VerifyProgress: Sendable, Equatable {
  /// Of nodes, large values and log.
  public var bytesChecked: UInt64
  public var bytesTotal: UInt64
}

/// Bytes behind the last whole frame of the log that are not zero.
public struct TornTail: Sendable, Equatable {
  /// Where they are, up to the end of the file or to where the log goes on.
  public var range: Range<UInt64>
  /// False: they are what a crash, a power cut, a full disk or a copy that was cut short leaves of
  /// the last commits. All that the file knows to be durable lies before them, and readers and
  /// writers pass over them. (A commit that was acknowledged as durable is known to be so from what
  /// is written after it, at the latest when the store is closed or has been idle.) True: the file
  /// says that durable commits were there, which is among the faults.
  public var isDamage: Bool
}

/// What ``Store/verify(progress:)`` found.
public struct VerifyReport: Sendable, Equatable {
  /// More say nothing new, and a file can be made to have as many as it has entries.
  static let faultLimit = 10_000

  /// By offset; at most 10,000 are kept.
  public var faults: [VerifyFault] = []
  public var nodes: UInt64 = 0
  public var entries: UInt64 = 0
  /// Large values.
  public var extents: UInt64 = 0
  /// Frames of the log after the newest checkpoint.
  public var frames: UInt64 = 0
  public var bytesChecked: UInt64 = 0
  /// The transaction whose state was checked.
  public var transaction: UInt64 = 0
  /// What lies behind the log; nil if there is nothing or only zeros, and in a store that is only
  /// read while another process writes it.
  public var tornTail: TornTail?

  /// Whether nothing is wrong. A torn tail that is no damage is no fault.
  public var isSound: Bool { faults.isEmpty }
}

extension Store {
  /// Reads everything that the newest state reaches and checks all of it: checksums, order of keys,
  /// separators, counts, live bytes, extents within the file, no overlaps; header, root slots, the
  /// log that reads still need; that the catalog of keyspaces agrees with itself, and names all
  /// that have entries, unless the log is damaged.
  ///
  /// What the disk has is read, and not what the system caches of it, where the system has a way to
  /// do that (Linux, but for file systems in memory). A block that cannot be read is a fault like
  /// any other. Reads and writes go on meanwhile. O(size of the live data).
  ///
  /// - Parameter progress: called now and then.
  /// - Returns: every fault by offset; faults do not throw.
  /// - Throws: ``StoreError`` `closed`, `inputOutput`.
  public func verify(progress: ((VerifyProgress) -> Void)? = nil) throws(StoreError) -> VerifyReport {
    do { return try engine.verify(progress) } catch { throw StoreError(error, path: engine.path) }
  }
}
