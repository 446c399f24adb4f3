import LatewoodFile
import LatewoodTree

/// A field of a structure: its offset in the structure, and the description of its value in the
/// words of FORMAT.md.
struct AnnotatedField {
  enum Form {
    /// Only the name is shown.
    case plain
    case number
    case microseconds
    /// The description that follows the name, depending on the number.
    case named(@Sendable (UInt64) -> String)
  }

  let offset: Int
  let length: Int
  let name: String
  let form: Form

  init(_ offset: Int, _ length: Int, _ name: String, _ form: Form = .plain) {
    self.offset = offset
    self.length = length
    self.name = name
    self.form = form
  }

  func meaning(_ value: UInt64) -> String {
    switch form {
    case .plain: name
    case .number: "\(name) \(value)"
    case .microseconds: "\(name): \(value) us after 1970"
    case .named(let words): "\(name) \(words(value))"
    }
  }
}

/// The tables of FORMAT.md, sections 3, 4, 5, 7, 8 and 14. Bytes outside all fields are zero.
enum FieldTable {
  static let header = [
    AnnotatedField(FileHeader.Offset.magic, 8, "magic"),
    AnnotatedField(FileHeader.Offset.formatVersion, 4, "format version"),
    AnnotatedField(FileHeader.Offset.requiredFeatures, 4, "required features", .number),
    AnnotatedField(FileHeader.Offset.fileID, 16, "file id"),
    AnnotatedField(FileHeader.Offset.created, 8, "created", .microseconds),
    AnnotatedField(FileHeader.Offset.optionalFeatures, 4, "optional features", .number),
    AnnotatedField(FileHeader.Offset.databaseID, 16, "database id"),
    AnnotatedField(FileHeader.Offset.checksum, 8, "checksum"),
  ]

  static let encryptedHeader =
    (header + [
      AnnotatedField(
        FileHeader.Offset.cipherSuite, 1, "cipher suite",
        .named { $0 == 1 ? "1: AES-256" : $0 == 2 ? "2: ChaCha20" : "\($0): not known" })
    ]).sorted { $0.offset < $1.offset }

  static let slot = [
    AnnotatedField(RootSlot.Offset.checksum, 8, "checksum"),
    AnnotatedField(RootSlot.Offset.generation, 8, "generation", .number),
    AnnotatedField(RootSlot.Offset.checkpointOffset, 8, "checkpoint offset", .number),
    AnnotatedField(RootSlot.Offset.checkpointChecksum, 8, "checkpoint checksum"),
    AnnotatedField(RootSlot.Offset.durableThrough, 8, "durable through", .number),
    AnnotatedField(RootSlot.Offset.transaction, 8, "transaction", .number),
    AnnotatedField(RootSlot.Offset.time, 8, "time", .microseconds),
    AnnotatedField(RootSlot.Offset.oldestWhole, 8, "oldest whole", .number),
  ]

  static let frame = [
    AnnotatedField(FrameHeader.Offset.checksum, 8, "checksum"),
    AnnotatedField(FrameHeader.Offset.magic, 4, "magic"),
    AnnotatedField(FrameHeader.Offset.kind, 1, "kind", .number),
    AnnotatedField(FrameHeader.Offset.flags, 1, "flags", .named(flags)),
    AnnotatedField(FrameHeader.Offset.reserved, 2, "reserved"),
    AnnotatedField(FrameHeader.Offset.ownOffset, 8, "own offset", .number),
    AnnotatedField(FrameHeader.Offset.transaction, 8, "transaction", .number),
    AnnotatedField(FrameHeader.Offset.previousChecksum, 8, "previous checksum"),
    AnnotatedField(FrameHeader.Offset.durableThrough, 8, "durable through", .number),
    AnnotatedField(FrameHeader.Offset.payloadLength, 8, "payload length", .number),
  ]

  private static let checkpoint = [
    AnnotatedField(CheckpointRecord.Offset.rootOffset, 8, "root offset", .number),
    AnnotatedField(CheckpointRecord.Offset.rootLength, 4, "root length", .number),
    AnnotatedField(CheckpointRecord.Offset.rootChecksum, 4, "root checksum: the first 4 bytes of the root"),
    AnnotatedField(CheckpointRecord.Offset.entries, 8, "entries", .number),
    AnnotatedField(CheckpointRecord.Offset.liveBytes, 8, "live bytes", .number),
    AnnotatedField(CheckpointRecord.Offset.rootLevel, 1, "root level", .number),
    AnnotatedField(CheckpointRecord.Offset.flags, 1, "flags", .named(checkpointFlags)),
    AnnotatedField(CheckpointRecord.Offset.reserved, 6, "reserved"),
    AnnotatedField(CheckpointRecord.Offset.replayOffset, 8, "replay offset", .number),
    AnnotatedField(CheckpointRecord.Offset.replayPreviousChecksum, 8, "replay previous checksum"),
    AnnotatedField(CheckpointRecord.Offset.transaction, 8, "transaction", .number),
    AnnotatedField(CheckpointRecord.Offset.time, 8, "time", .microseconds),
    AnnotatedField(CheckpointRecord.Offset.previousCheckpoint, 8, "previous checkpoint", .number),
    AnnotatedField(CheckpointRecord.Offset.branch, 8, "branch", .number),
  ]

  /// The fields of a checkpoint, with the anchors of an encrypted file.
  ///
  /// - Parameter length: the length of the payload without its trailer.
  static func checkpoint(length: Int) -> [AnnotatedField] {
    stride(from: CheckpointRecord.length, to: length, by: StateAnchor.length).reduce(into: checkpoint) {
      $0 += moved(anchor, by: $1, named: "anchor: ")
    }
  }

  private static let anchor = [
    AnnotatedField(StateAnchor.Offset.transaction, 8, "transaction", .number),
    AnnotatedField(StateAnchor.Offset.id, 16, "id"),
  ]

  static let node = [
    AnnotatedField(NodeLayout.checksum, 8, "checksum"),
    AnnotatedField(NodeLayout.kind, 1, "kind", .named { $0 == 1 ? "1: leaf" : "\($0): branch" }),
    AnnotatedField(NodeLayout.level, 1, "level", .number),
    AnnotatedField(NodeLayout.count, 2, "count", .number),
    AnnotatedField(NodeLayout.length, 4, "length", .number),
    AnnotatedField(NodeLayout.ownOffset, 8, "own offset", .number),
    AnnotatedField(NodeLayout.transaction, 8, "transaction", .number),
    AnnotatedField(NodeLayout.prefixLength, 2, "prefix length", .number),
    AnnotatedField(NodeLayout.reserved, 6, "reserved"),
  ]

  static let child = [
    AnnotatedField(NodeLayout.childOffset, 8, "offset", .number),
    AnnotatedField(NodeLayout.childReferenceLength, 4, "length", .number),
    AnnotatedField(NodeLayout.childChecksum, 4, "checksum: the first 4 bytes of the child"),
    AnnotatedField(NodeLayout.childEntries, 8, "entries", .number),
    AnnotatedField(NodeLayout.childLiveBytes, 8, "live bytes", .number),
  ]

  /// Follows the text of every unit of an encrypted file.
  static let trailer = [
    AnnotatedField(0, 16, "epoch"),
    AnnotatedField(16, 8, "number in the epoch", .number),
    AnnotatedField(24, 16, "tag"),
  ]

  /// In the block of each slot of an encrypted file.
  static let keyWrap =
    [
      AnnotatedField(KeyWrap.Offset.checksum, 8, "key: checksum"),
      AnnotatedField(KeyWrap.Offset.derivation, 1, "key: derivation", .named(derivation)),
      AnnotatedField(KeyWrap.Offset.derivation + 4, 4, "key: passes or rounds", .number),
      AnnotatedField(KeyWrap.Offset.derivation + 8, 4, "key: KiB of memory", .number),
      AnnotatedField(KeyWrap.Offset.derivation + 12, 4, "key: lanes", .number),
      AnnotatedField(KeyWrap.Offset.salt, 32, "key: salt"),
      AnnotatedField(KeyWrap.Offset.key, 32, "key: the key of the file, encrypted"),
    ] + moved(trailer, by: KeyWrap.Offset.trailer, named: "key: ")

  static func moved(
    _ fields: [AnnotatedField], by offset: Int, named prefix: String = ""
  ) -> [AnnotatedField] {
    fields.map { AnnotatedField($0.offset + offset, $0.length, prefix + $0.name, $0.form) }
  }

  @Sendable private static func derivation(_ value: UInt64) -> String {
    switch value {
    case 0: "0: none, a raw key"
    case 1: "1: Argon2id"
    case 2: "2: PBKDF2"
    default: "\(value): not known"
    }
  }

  /// Describes the flags of a commit frame or a seal; other frames do not have flags.
  @Sendable private static func flags(_ value: UInt64) -> String {
    value == 0 ? "0" : "\(value): the transaction continues, or of a seal: the log ends here"
  }

  @Sendable private static func checkpointFlags(_ value: UInt64) -> String {
    value == 0 ? "0" : "\(value): written by a compaction or a copy"
  }
}
