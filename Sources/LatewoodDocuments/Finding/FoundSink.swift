import LatewoodFleece
import LatewoodQuery

/// The receiver of the documents that a query finds, in order. If the values in an index are enough
/// for it, no document is read.
protocol FoundSink {
  /// Returns whether the sink can take entries of an index instead of documents.
  mutating func covers(_ definition: IndexDefinition) -> Bool

  /// Takes a document. Returns whether to continue.
  mutating func take(_ document: FoundDocument) throws -> Bool

  /// Takes the index entry of a document. Returns whether to continue; nil if the sink needs the
  /// document.
  mutating func take(_ entry: IndexEntry) throws -> Bool?
}

/// A sink that takes whole documents.
struct DocumentSink: FoundSink {
  let body: (FoundDocument) throws -> Bool

  mutating func covers(_ definition: IndexDefinition) -> Bool { false }
  mutating func take(_ document: FoundDocument) throws -> Bool { try body(document) }
  mutating func take(_ entry: IndexEntry) throws -> Bool? { nil }
}

/// A sink that takes only ids.
struct IDSink: FoundSink {
  let body: (String) throws -> Bool

  mutating func covers(_ definition: IndexDefinition) -> Bool { true }
  mutating func take(_ document: FoundDocument) throws -> Bool { try body(document.id) }
  mutating func take(_ entry: IndexEntry) throws -> Bool? { try body(entry.id) }
}

/// The fields of a document that was found: values from an index, or the document itself.
package enum FoundRow {
  /// A value for each column.
  case values(id: String, [ScalarValue])
  case document(FoundDocument)
}

/// A sink that takes the values of some columns.
struct RowSink: FoundSink {
  private let columns: [FieldPath]
  private let body: (FoundRow) throws -> Bool?
  private var parts: [IndexDefinition.Part] = []
  /// The number of the index part that holds each column; nil for the id.
  private var places: [Int?] = []

  init(_ columns: [FieldPath], _ body: @escaping (FoundRow) throws -> Bool?) {
    self.columns = columns
    self.body = body
  }

  mutating func covers(_ definition: IndexDefinition) -> Bool {
    guard let places = definition.places(of: columns) else { return false }
    self.places = places
    // Index parts after the last one that a column needs are not read.
    parts = Array(definition.parts.prefix((places.compactMap { $0 }.max() ?? -1) + 1))
    return true
  }

  mutating func take(_ document: FoundDocument) throws -> Bool { try body(.document(document)) ?? true }

  mutating func take(_ entry: IndexEntry) throws -> Bool? {
    guard !entry.isCut, let values = values(entry) else { return nil }
    return try body(.values(id: entry.id, values))
  }

  private func values(_ entry: IndexEntry) -> [ScalarValue]? {
    var held: [ScalarValue] = []
    let isWhole = entry.key.withUnsafeBytes { bytes in
      var reader = CollationReader(bytes)
      for part in parts {
        guard let value = reader.next(descending: part.isDescending) else { return false }
        held.append(value)
      }
      return true
    }
    guard isWhole else { return nil }
    // Usually the columns are exactly the parts, in the same order.
    if places.count == held.count, zip(places, held.indices).allSatisfy({ $0 == $1 }) { return held }
    return places.map { place in place.map { held[$0] } ?? .string(entry.id) }
  }
}

extension IndexDefinition {
  /// Returns the number of the part that holds each of some fields, with nil for the id, which
  /// every entry has. Returns nil if no part holds one of the fields.
  func places(of columns: [FieldPath]) -> [Int?]? {
    var places: [Int?] = []
    for column in columns {
      if column == FoundDocument.idField {
        places.append(nil)
      } else if let place = parts.firstIndex(where: { $0.path == column && !$0.isEach }) {
        places.append(place)
      } else {
        return nil
      }
    }
    return places
  }
}
