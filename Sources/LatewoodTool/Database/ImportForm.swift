/// The form of a text that `import` reads.
enum ImportForm: String, CaseIterable, Sendable {
  case array, lines, document, entries
  /// Records of CSV, each of which becomes a document.
  case csv
  /// CouchDB's `_all_docs?include_docs=true`.
  case couchdb

  /// The form in which `export` gives the documents back.
  var shape: ImportRecord.Shape { ImportRecord.Shape(rawValue: rawValue) ?? .lines }

  /// Whether it has documents only, and no entries.
  var needsDocuments: Bool { self == .csv || self == .couchdb }
}
