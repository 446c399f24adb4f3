/// A range of the file, and its purpose.
package struct Region: Equatable, Sendable {
  /// The purposes, in the order of a legend. `--json` prints the raw values.
  package enum Kind: String, CaseIterable, Sendable {
    case header
    case slot
    /// A node of the newest checkpoint's tree.
    case node
    /// A value that the tree refers to.
    case extent
    /// A node of an encrypted file without the key: live or dead.
    case lockedNode
    /// Commit frames, without the key, that a checkpoint contains: extents in them are live or
    /// dead.
    case lockedCommit
    /// Commit frames that no checkpoint contains.
    case log
    /// Checkpoints and seals.
    case checkpoint
    /// Headers of nodes frames, padding, and the rest of frames that have holes.
    case frame
    case deadNode
    /// Commit frames that a checkpoint contains, without the extents in them.
    case deadCommit
    /// Blocks that read as zeros and contain no live data.
    case hole
    /// The remains of writes that were never acknowledged.
    case skipped
    /// Zeros after the log.
    case reserved
    /// A required node or part of the log that is not sound.
    case damaged
    /// Blocks that the disk cannot read.
    case unreadable

    /// Whether it stands for what the key would tell apart.
    package var isLocked: Bool { self == .lockedNode || self == .lockedCommit }

    package var isLive: Bool {
      switch self {
      case .header, .slot, .node, .extent, .log: true
      case .lockedNode, .lockedCommit, .checkpoint, .frame, .deadNode, .deadCommit, .hole, .skipped,
        .reserved, .damaged, .unreadable:
        false
      }
    }
  }

  package var kind: Kind
  package var range: Range<UInt64>
  /// The keyspace of a node or an extent that belongs to a single one.
  package var keyspace: UInt32?

  /// The keyspace whose live node or value it is; nil for anything else.
  package var liveKeyspace: UInt32? { kind == .node || kind == .extent ? keyspace : nil }

  package var length: UInt64 { range.upperBound - range.lowerBound }

  package init(_ kind: Kind, _ range: Range<UInt64>, keyspace: UInt32? = nil) {
    self.kind = kind
    self.range = range
    self.keyspace = keyspace
  }
}
