import Testing

@testable import LatewoodFile
@testable import LatewoodStore
@testable import LatewoodTree

/// FORMAT.md is the specification: the constants in the code must agree with its tables. Each table
/// is compared once.
@Suite struct FormatTableTests {
  let document: FormatDocument

  init() throws { document = try FormatDocument() }

  /// Expects these fields in a table, in order, with name, offset and length. A length of nil means
  /// the rest.
  private func expect(
    _ table: String, _ fields: [(String, Int, Int?)], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let found = (document.tables[table] ?? []).map { $0.prefix(3).joined(separator: " ") }
    let expected = fields.map { name, offset, length in "\(offset) \(length.map(String.init) ?? "") \(name)" }
    #expect(found == expected, sourceLocation: sourceLocation)
    // Fields follow each other without gaps, except before bytes that the text says are zero.
    for (field, next) in zip(fields, fields.dropFirst())
    where !["optional features", "cipher suite"].contains(field.0) {
      #expect(field.1 + (field.2 ?? 0) == next.1, sourceLocation: sourceLocation)
    }
  }

  @Test func `every table of FORMAT.md is compared here`() {
    #expect(
      document.tables.keys.sorted() == [
        "anchor", "checkpoint", "child", "derivations", "frame", "header", "kinds", "limits", "node",
        "operations", "slot", "suites", "trailer", "units", "wrap",
      ])
  }

  @Test func `the header matches its table`() {
    typealias At = FileHeader.Offset
    expect(
      "header",
      [
        ("magic", At.magic, 8), ("format version", At.formatVersion, 4),
        ("required features", At.requiredFeatures, 4), ("file id", At.fileID, 16), ("created", At.created, 8),
        ("optional features", At.optionalFeatures, 4), ("database id", At.databaseID, 16),
        ("cipher suite", At.cipherSuite, 1), ("checksum", At.checksum, 8),
      ])
    #expect(At.checksum + 8 == FileLayout.headerLength)
    #expect(document.tables["header"]?[1].last == "\(FileHeader.formatVersion)")
    let magic = withUnsafeBytes(of: FileHeader.magic.littleEndian) { String(decoding: $0, as: UTF8.self) }
    #expect(document.tables["header"]?[0].last == "the ASCII bytes `\(magic)`")
  }

  @Test func `the parts of encrypted files match their tables`() {
    expect("trailer", [("epoch", 0, 16), ("number", 16, 8), ("tag", 24, 16)])
    typealias At = KeyWrap.Offset
    expect(
      "wrap",
      [
        ("checksum", At.checksum, 8), ("derivation", At.derivation, 16), ("salt", At.salt, 32),
        ("key", At.key, 32), ("trailer", At.trailer, FileCipher.trailerLength),
      ])
    #expect(At.trailer + FileCipher.trailerLength == KeyWrap.length)
    let kinds: [UnitCodec.Kind] = [.slot, .frame, .node, .extent, .key]
    #expect(
      document.tables["units"]?.map { $0.prefix(2).joined(separator: " ") }
        == kinds.map { "\($0) \($0.rawValue)" })
    #expect(
      document.tables["suites"]?.map { $0[0] } == LatewoodFile.CipherSuite.allCases.map { "\($0.rawValue)" })
    #expect(document.tables["derivations"]?.map { $0[0] } == ["0", "1", "2"])
  }

  @Test func `a slot matches its table`() {
    typealias At = RootSlot.Offset
    expect(
      "slot",
      [
        ("checksum", At.checksum, 8), ("generation", At.generation, 8),
        ("checkpoint offset", At.checkpointOffset, 8), ("checkpoint checksum", At.checkpointChecksum, 8),
        ("durable through", At.durableThrough, 8), ("transaction", At.transaction, 8), ("time", At.time, 8),
        ("oldest whole", At.oldestWhole, 8),
      ])
    #expect(At.oldestWhole + 8 == RootSlot.length)
  }

  @Test func `a frame matches its table`() {
    typealias At = FrameHeader.Offset
    expect(
      "frame",
      [
        ("checksum", At.checksum, 8), ("magic", At.magic, 4), ("kind", At.kind, 1), ("flags", At.flags, 1),
        ("reserved", At.reserved, 2), ("own offset", At.ownOffset, 8), ("transaction", At.transaction, 8),
        ("previous checksum", At.previousChecksum, 8), ("durable through", At.durableThrough, 8),
        ("payload length", At.payloadLength, 8), ("payload", At.payload, nil),
      ])
    #expect(FrameHeader.length == At.payload)
    let magic = withUnsafeBytes(of: FrameHeader.magic.littleEndian) { String(decoding: $0, as: UTF8.self) }
    #expect(document.tables["frame"]?[1].last == "the ASCII bytes `\(magic)`")
  }

  @Test func `frame kinds and operations match their tables`() {
    #expect(
      (document.tables["kinds"] ?? []).map { "\($0[0]) \($0[1])" }
        == FrameKind.allCases.map { "\($0.rawValue) \($0)" })
    let operations = [
      (OperationCode.put, "put"), (OperationCode.putExtent, "put extent"), (OperationCode.delete, "delete"),
      (OperationCode.deleteRange, "delete range"),
    ]
    #expect(
      (document.tables["operations"] ?? []).map { "\($0[0]) \($0[1])" }
        == operations.map { "\($0.0) \($0.1)" })
  }

  @Test func `a checkpoint matches its table`() {
    typealias At = CheckpointRecord.Offset
    expect(
      "checkpoint",
      [
        ("root offset", At.rootOffset, 8), ("root length", At.rootLength, 4),
        ("root checksum", At.rootChecksum, 4), ("entries", At.entries, 8), ("live bytes", At.liveBytes, 8),
        ("root level", At.rootLevel, 1), ("flags", At.flags, 1), ("reserved", At.reserved, 6),
        ("replay offset", At.replayOffset, 8),
        ("replay previous checksum", At.replayPreviousChecksum, 8), ("transaction", At.transaction, 8),
        ("time", At.time, 8), ("previous checkpoint", At.previousCheckpoint, 8),
        ("branch", At.branch, 8),
      ])
    #expect(At.branch + 8 == CheckpointRecord.length)
  }

  @Test func `an anchor matches its table`() {
    typealias At = LatewoodFile.StateAnchor.Offset
    expect("anchor", [("transaction", At.transaction, 8), ("id", At.id, 16)])
    #expect(At.id + 16 == LatewoodFile.StateAnchor.length)
    #expect(LatewoodFile.StateAnchor.limit == 32)
  }

  @Test func `a node matches its table`() {
    typealias At = NodeLayout
    expect(
      "node",
      [
        ("checksum", At.checksum, 8), ("kind", At.kind, 1), ("level", At.level, 1), ("count", At.count, 2),
        ("length", At.length, 4), ("own offset", At.ownOffset, 8), ("transaction", At.transaction, 8),
        ("prefix length", At.prefixLength, 2), ("reserved", At.reserved, 6), ("arrays", At.arrays, nil),
      ])
    #expect(document.tables["node"]?[1].last == "\(At.leafKind) leaf, \(At.branchKind) branch")
  }

  @Test func `a child matches its table`() {
    typealias At = NodeLayout
    expect(
      "child",
      [
        ("offset", At.childOffset, 8), ("length", At.childReferenceLength, 4),
        ("checksum", At.childChecksum, 4), ("entries", At.childEntries, 8),
        ("live bytes", At.childLiveBytes, 8),
      ])
    #expect(At.childLiveBytes + 8 == At.childLength)
  }

  @Test func `the limits match their table, in every layer`() {
    let rows = (document.tables["limits"] ?? []).map { $0.joined(separator: ": ") }
    #expect(
      rows == [
        "key: 1 to \(FileLayout.keyLimit) bytes", "value: 0 to \(FileLayout.valueLimit) bytes",
        "keyspace name: 1 to \(FileLayout.keyspaceNameLimit) bytes",
        "keyspaces: \(FileLayout.keyspaceLimit)", "node: \(FileLayout.nodeLimit) bytes",
        "file: \(FileLayout.fileLimit) bytes",
      ])
    #expect(NodeLayout.maximumLength == FileLayout.nodeLimit)
    #expect(NodeLayout.maximumValueLength == UInt64(FileLayout.valueLimit))
    #expect(UInt64(NodeLayout.alignment) == FileLayout.nodeAlignment)
    #expect(FullKey.maximumKeyLength == FileLayout.keyLimit)
    #expect(Catalog.maximumNameLength == FileLayout.keyspaceNameLimit)
    #expect(UInt64(Catalog.maximumNumber) == FileLayout.keyspaceLimit)
  }
}
