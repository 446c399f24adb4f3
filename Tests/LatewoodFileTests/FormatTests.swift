import LatewoodBytes
import LatewoodDevice
import Testing

@testable import LatewoodFile

/// FORMAT.md is the specification; the constants in the code must be what its tables say.
@Suite struct FormatTests {
  let tables: [String: [[String]]]

  init() throws {
    let root = #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(3).joined(
      separator: "/")
    let device = try FileVolume().open(root + "/FORMAT.md", .readOnly)
    defer { device.close() }
    var bytes = [UInt8](repeating: 0, count: Int(try device.size()))
    _ = try bytes.withUnsafeMutableBytes { try device.read(into: $0, at: 0) }
    tables = FormatTests.parse(String(decoding: bytes, as: UTF8.self))
  }

  /// The rows of each marked table, without the two of its head.
  static func parse(_ text: String) -> [String: [[String]]] {
    var tables: [String: [[String]]] = [:]
    var name: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      let words = line.split(separator: " ")
      if words.starts(with: ["<!--", "table:"]), words.count > 2 {
        name = String(words[2])
      } else if let table = name, line.hasPrefix("|") {
        let cells = line.split(separator: "|").map { cell in
          cell.split(separator: " ").joined(separator: " ")
        }
        tables[table, default: []].append(cells)
      } else {
        name = nil
      }
    }
    return tables.mapValues { Array($0.dropFirst(2)) }
  }

  /// Offset and length of each field, in order.
  private func expect(
    _ table: String, _ fields: [(String, Int, Int?)], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let found = (tables[table] ?? []).map { "\($0[0]) \($0[1]) \($0[2])" }
    let expected = fields.map { name, offset, length in "\(offset) \(length.map(String.init) ?? "") \(name)" }
    #expect(found == expected, sourceLocation: sourceLocation)
  }

  @Test func theHeaderIsWhatTheTableSays() {
    typealias At = FileHeader.Offset
    expect(
      "header",
      [
        ("magic", At.magic, 8), ("format version", At.formatVersion, 4),
        ("required features", At.requiredFeatures, 4), ("file id", At.fileID, 16), ("created", At.created, 8),
        ("optional features", At.optionalFeatures, 4), ("checksum", At.checksum, 8),
      ])
  }

  @Test func theSlotIsWhatTheTableSays() {
    typealias At = RootSlot.Offset
    expect(
      "slot",
      [
        ("checksum", At.checksum, 8), ("generation", At.generation, 8),
        ("checkpoint offset", At.checkpointOffset, 8), ("checkpoint checksum", At.checkpointChecksum, 8),
        ("durable through", At.durableThrough, 8), ("transaction", At.transaction, 8), ("time", At.time, 8),
        ("reserved", At.reserved, 8),
      ])
    #expect(At.reserved + 8 == RootSlot.length)
  }

  @Test func theFrameIsWhatTheTableSays() {
    typealias At = FrameHeader.Offset
    let rows = (tables["frame"] ?? []).map { "\($0[0]) \($0[1])" }
    let expected = [
      (At.checksum, "8"), (At.magic, "4"), (At.kind, "1"), (At.flags, "1"), (At.reserved, "2"),
      (At.ownOffset, "8"), (At.transaction, "8"), (At.previousChecksum, "8"), (At.durableThrough, "8"),
      (At.payloadLength, "8"), (At.payload, ""),
    ]
    #expect(rows == expected.map { "\($0.0) \($0.1)" })
    #expect(FrameHeader.length == At.payload)
  }

  @Test func kindsAndOperationsAreWhatTheTablesSay() {
    #expect(
      (tables["kinds"] ?? []).map { "\($0[0]) \($0[1])" } == FrameKind.allCases.map { "\($0.rawValue) \($0)" }
    )
    let operations = [
      (OperationCode.put, "put"), (OperationCode.putExtent, "put extent"), (OperationCode.delete, "delete"),
      (OperationCode.deleteRange, "delete range"),
    ]
    #expect((tables["operations"] ?? []).map { "\($0[0]) \($0[1])" } == operations.map { "\($0.0) \($0.1)" })
  }

  @Test func theCheckpointIsWhatTheTableSays() {
    typealias At = CheckpointRecord.Offset
    expect(
      "checkpoint",
      [
        ("root offset", At.rootOffset, 8), ("root length", At.rootLength, 4),
        ("root checksum", At.rootChecksum, 4), ("entries", At.entries, 8), ("live bytes", At.liveBytes, 8),
        ("root level", At.rootLevel, 1), ("reserved", At.reserved, 7), ("replay offset", At.replayOffset, 8),
        ("replay previous checksum", At.replayPreviousChecksum, 8), ("transaction", At.transaction, 8),
        ("time", At.time, 8), ("previous checkpoint", At.previousCheckpoint, 8),
        ("reserved", At.reservedEnd, 8),
      ])
    #expect(At.reservedEnd + 8 == CheckpointRecord.length)
  }

  @Test func theLimitsAreWhatTheTableSays() {
    let rows = (tables["limits"] ?? []).map { $0.joined(separator: ": ") }
    #expect(
      rows == [
        "key: 1 to \(FileLayout.keyLimit) bytes", "value: 0 to \(FileLayout.valueLimit) bytes",
        "keyspace name: 1 to \(FileLayout.keyspaceNameLimit) bytes",
        "keyspaces: \(FileLayout.keyspaceLimit)", "node: \(FileLayout.nodeLimit) bytes",
        "file: \(FileLayout.fileLimit) bytes",
      ])
  }
}
