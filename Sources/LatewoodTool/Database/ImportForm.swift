/// The form of a text that `import` reads.
enum ImportForm: String, CaseIterable, Sendable {
  case array, lines, document, entries
  /// Records of CSV, each of which becomes a document.
  case csv
  /// CouchDB's `_all_docs?include_docs=true`.
  case couchdb

  /// The form in which `export` writes the documents.
  var shape: ImportRecord.Shape { ImportRecord.Shape(rawValue: rawValue) ?? .lines }

  /// Whether the form is only for documents, not for entries.
  var needsDocuments: Bool { self == .csv || self == .couchdb }
}
