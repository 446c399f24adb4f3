import LatewoodFleece
import LatewoodStore

/// The record of an import into a keyspace, so that `export` can restore the original form.
///
/// It is stored as JSON in the keyspace `.imports`, under the name of its keyspace:
/// `{"shape":"array","source":"movies.json","complete":true}`.
struct ImportRecord: Equatable {
  /// The form of the text that was imported.
  enum Shape: String, CaseIterable, Sendable {
    /// One array; each value is the JSON text of an element.
    case array
    /// A sequence of values, usually one to a line; each value is stored as its JSON text.
    case lines
    /// One JSON text; the value is that text.
    case document
    /// Lines of `{"key":…,"value":…}`; values are bytes of any kind.
    case entries
  }

  static let keyspaceName = ".imports"

  var shape: Shape
  /// The name of the source file.
  var source: String
  /// Whether the last entry has been imported; false after an interrupted import.
  var isComplete: Bool

  var encoded: [UInt8] {
    var writer = JSONOutput()
    writer.beginDictionary()
    writer.member("shape", shape.rawValue)
    writer.member("source", source)
    writer.member("complete", isComplete)
    writer.endDictionary()
    return writer.take()
  }

  init(shape: Shape, source: String, isComplete: Bool) {
    self.shape = shape
    self.source = source
    self.isComplete = isComplete
  }

  /// Returns nil if this version does not understand `bytes`.
  init?(_ bytes: [UInt8]) {
    guard let text = JSON.compact(bytes) else { return nil }
    let (shape, source, isComplete) = text.withUnsafeBytes { text in
      let text = JSONSlice(text)
      return (
        Self.member("shape", of: text), Self.member("source", of: text),
        text.value(at: [Array("complete".utf8)])?.isEqual("true")
      )
    }
    guard let shape = shape.flatMap(Shape.init(rawValue:)), let source, let isComplete else { return nil }
    self.init(shape: shape, source: source, isComplete: isComplete)
  }

  private static func member(_ name: String, of text: JSONSlice) -> String? {
    text.value(at: [Array(name.utf8)])?.string().map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the record about `keyspace`; nil if nothing was imported into it.
  static func read(about keyspace: Keyspace, in database: Database) throws -> ImportRecord? {
    guard let records = try database.store.existingKeyspace(keyspaceName),
      let bytes = try database.store.get(keyspace.name, in: records)
    else { return nil }
    return ImportRecord(bytes)
  }
}
