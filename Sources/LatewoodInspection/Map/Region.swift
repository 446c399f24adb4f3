/// A stretch of the file, and what it is for.
package struct Region: Equatable, Sendable {
  /// In the order in which a legend shows them. The raw values are what `--json` prints.
  package enum Kind: String, CaseIterable, Sendable {
    case header
    case slot
    /// A node of the newest checkpoint's tree.
    case node
    /// A value that the tree refers to.
    case extent
    /// Commit frames that no checkpoint holds.
    case log
    /// Checkpoints and seals, wherever they stand.
    case checkpoint
    /// Headers of nodes frames, padding, and what is left of frames that have holes.
    case frame
    case deadNode
    /// Commit frames that a checkpoint holds, without the extents in them.
    case deadCommit
    /// Blocks that read as zeros where nothing is live.
    case hole
    /// Left behind by writes that were never acknowledged.
    case skipped
    /// Zeros behind the log.
    case reserved
    /// A node or log that should be there and is not sound.
    case damaged

    package var isLive: Bool {
      switch self {
      case .header, .slot, .node, .extent, .log: true
      case .checkpoint, .frame, .deadNode, .deadCommit, .hole, .skipped, .reserved, .damaged: false
      }
    }
  }

  package var kind: Kind
  package var range: Range<UInt64>
  /// Of a node or an extent that belongs to one alone.
  package var keyspace: UInt32?

  package var length: UInt64 { range.upperBound - range.lowerBound }

  package init(_ kind: Kind, _ range: Range<UInt64>, keyspace: UInt32? = nil) {
    self.kind = kind
    self.range = range
    self.keyspace = keyspace
  }
}
