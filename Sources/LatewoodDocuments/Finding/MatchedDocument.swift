import LatewoodFleece
import LatewoodQuery

/// A document found by a query, with its body read in place. It is valid only during the call that
/// provided it.
package struct MatchedDocument: FieldSource {
  private let idBytes: UnsafeRawBufferPointer
  /// The head of its record.
  package let head: DocumentRecord.Head
  package let body: FleeceValue
  private let stored: UnsafeRawBufferPointer

  /// - Parameters:
  ///   - id: the bytes of the id. These and the bytes of the body must outlive the value.
  ///   - head: the head of the record.
  ///   - stored: the bytes of the body.
  init(
    _ id: UnsafeRawBufferPointer, _ head: DocumentRecord.Head, _ stored: UnsafeRawBufferPointer
  ) throws(FleeceError) {
    idBytes = id
    self.head = head
    self.stored = stored
    body = try FleeceValue.root(of: stored)
  }

  package var id: String { String(decoding: idBytes, as: UTF8.self) }
  package var revision: RevisionID { head.winner }

  /// A copy of the bytes of the body.
  package var bytes: [UInt8] { Array(stored) }

  /// Returns a copy of the body, which may leave the call.
  package func element() throws(FleeceError) -> FleeceElement { try FleeceBody(bytes).root }

  /// The field names of id and revision, as in CouchDB. Bodies never have members with these names.
  package static let idField = FieldPath("_id")
  package static let revisionField = FieldPath("_rev")

  package func withField<R>(
    _ path: FieldPath, _ body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    // One comparison suffices for nearly all paths.
    guard path.steps.count == 1, path.steps[0].isReserved else { return try body(path.lookup(in: self.body)) }
    if path == MatchedDocument.idField { return try MatchedDocument.lend(id, to: body) }
    if path == MatchedDocument.revisionField { return try MatchedDocument.lend("\(revision)", to: body) }
    return try body(path.lookup(in: self.body))
  }

  private static func lend<R>(
    _ text: String, to body: (Lookup) throws(FleeceError) -> R
  ) throws(FleeceError) -> R {
    var writer = FleeceWriter()
    try writer.string(text)
    return try FleeceBody(written: try writer.finish()).withRoot { root throws(FleeceError) in
      try body(.value(root))
    }
  }

  /// Writes the body, with id and revision as additional members.
  package func write(to writer: inout FleeceWriter) throws(FleeceError) {
    try writer.beginDictionary()
    try writer.key("_id")
    try writer.string(id)
    try writer.key("_rev")
    try writer.string("\(revision)")
    if var members = try body.dictionary()?.members() {
      while let member = try members.next() {
        try writer.key(String(decoding: member.key, as: UTF8.self))
        try writer.value(member.value)
      }
    }
    try writer.endDictionary()
  }
}
