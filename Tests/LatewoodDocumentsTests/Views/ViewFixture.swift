import LatewoodFleece
import LatewoodStore
import Testing

@testable import LatewoodDocuments

/// A row of a view as texts.
struct ShownRow: Equatable, CustomStringConvertible {
  var id: String
  var key: String
  var value: String

  var description: String { "\(id) \(key) \(value)" }
}

/// Thrown by maps of tests.
struct MapFailure: Error, CustomStringConvertible {
  var description: String { "the map has failed" }
}

/// Views of documents `{"k": key, "v": value, "tags": [text, ...]}`.
enum SampleView {
  /// Emits `k` with `v`; fails for documents with a member `fails`.
  static func values(
    _ name: String = "values", version: UInt64 = 1, _ reduction: StoredReduction = .none
  ) -> ViewDefinition {
    ViewDefinition(name, version: version, reduction: reduction) { document, emitter in
      let body = try #require(try document.body.dictionary())
      if try body.value(for: "fails") != nil { throw MapFailure() }
      guard let key = try body.value(for: "k") else { return }
      emitter.emit(key, try bytes(of: body.value(for: "v")))
    }
  }

  /// Emits `[tag, version]` for each tag, with null.
  static func tags(_ name: String = "tags", version: UInt64 = 1) -> ViewDefinition {
    ViewDefinition(name, version: version) { document, emitter in
      guard let tags = try document.body.dictionary()?.value(for: "tags")?.array() else { return }
      for index in 0..<tags.count {
        var writer = FleeceWriter()
        try writer.beginArray()
        try writer.value(try tags.value(at: index))
        try writer.unsigned(version)
        try writer.endArray()
        try FleeceBody(written: try writer.finish()).withRoot { key throws(FleeceError) in
          emitter.emit(key)
        }
      }
    }
  }

  private static func bytes(of value: FleeceValue?) throws -> [UInt8] {
    guard let value else { return [] }
    var writer = FleeceWriter()
    try writer.value(value)
    return try writer.finish()
  }

  static func key(_ json: String) throws -> ViewRowKey {
    try FleeceBody(try JSON.fleece(from: json)).withRoot { value in
      Result { () throws(DatabaseError) in try ViewRowKey(value) }
    }.get()
  }
}

extension ViewReads {
  func shownRows(in range: ViewRange = ViewRange(), skip: Int = 0, limit: Int = .max) throws -> [ShownRow] {
    var rows: [ShownRow] = []
    try forEachRow(in: range, skip: skip) { row in
      guard rows.count < limit else { return false }
      let value = row.copiedValue
      rows.append(
        ShownRow(
          id: row.id, key: try text(row.emittedKey()),
          value: value.isEmpty ? "null" : try text(value)))
      return true
    }
    return rows
  }
}

extension DocumentStore {
  @discardableResult
  func saveJSON(
    _ id: String, _ json: String, in collection: CollectionHandle,
    policy: ConcurrencyControl = .lastWriteWins
  ) throws -> SavedRevision {
    let body = try JSON.fleece(from: json)
    return try write(durability: .relaxed) {
      try $0.save(id, in: collection, body: body, parent: nil, policy: policy)
    }
  }

  func deleteJSON(_ id: String, in collection: CollectionHandle) throws {
    let body = try JSON.fleece(from: "{}")
    try write(durability: .relaxed) {
      _ = try $0.save(
        id, in: collection, body: body, parent: nil, isDeleted: true, policy: .lastWriteWins)
    }
  }

  /// The rows of a view, and whether verification finds nothing.
  func shownRows(
    _ view: ViewDefinition, in collection: CollectionHandle,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws -> [ShownRow] {
    let rows = try reads(view, of: collection).shownRows()
    #expect(try verify(deep: true).faults == [], sourceLocation: sourceLocation)
    return rows
  }

  /// The rows that the documents emit to a view, computed from the documents alone, in order.
  func recomputedRows(_ view: ViewDefinition, in collection: CollectionHandle) throws -> [ShownRow] {
    var rows: [(key: [UInt8], row: ShownRow)] = []
    let reads = try reads(collection)
    try reads.forEachDocument { id, head in
      guard let body = try reads.body(at: head.body) else { return true }
      let (emitted, values) = try id.withBytes { id in
        try body.withUnsafeBytes { view.rows(of: try MatchedDocument(id, head, $0)) }
      }
      guard case .rows(let keys)? = emitted else { return true }
      for (number, key) in keys.enumerated() {
        let shown = try key.withUnsafeBytes { try text(ViewReads.value(of: $0)) }
        let value = values[number].isEmpty ? "null" : try text(values[number])
        rows.append((StoredRow.key(key, id, number), ShownRow(id: id, key: shown, value: value)))
      }
      return true
    }
    return rows.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.row)
  }
}

/// Returns a value in Fleece as canonical JSON.
func text(_ fleece: [UInt8]) throws -> String { String(decoding: try JSON.text(of: fleece), as: UTF8.self) }
