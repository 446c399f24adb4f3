import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery

/// Prints found documents one by one, in the output form of the console.
struct FoundListing {
  private let console: Console
  private let collection: String
  private let fields: Projection?
  private let countsOnly: Bool
  private var writer = JSONWriter()
  private var count = 0

  /// - Parameter fields: the members to print; nil for all.
  init(_ console: Console, collection: String, fields: Projection?, countsOnly: Bool) {
    self.console = console
    self.collection = collection
    self.fields = fields
    self.countsOnly = countsOnly
  }

  mutating func begin() throws(Failure) {
    guard console.printsJSON else { return }
    writer.beginObject()
    writer.member("collection", collection)
    if countsOnly { return }
    writer.name("documents")
    writer.beginArray()
  }

  mutating func add(_ document: FoundDocument) throws(Failure) {
    count += 1
    let text: [UInt8]
    do throws(FleeceError) { text = try json(of: document) } catch { throw Failure(error) }
    if console.printsJSON {
      writer.raw(text)
      try console.writeJSON(writer.take())
    } else {
      try console.writeJSON(text + [UInt8(ascii: "\n")])
    }
  }

  private func json(of document: FoundDocument) throws(FleeceError) -> [UInt8] {
    var fleece = FleeceWriter()
    if let fields {
      try fields.write(document, to: &fleece)
    } else {
      try document.write(to: &fleece)
    }
    return try JSON.text(of: try fleece.finish())
  }

  /// Ends a listing that has only the number of documents.
  mutating func end(count: Int, read: Int) throws(Failure) {
    self.count = count
    try end(read: read)
  }

  /// - Parameter read: the number of examined documents.
  mutating func end(read: Int) throws(Failure) {
    guard console.printsJSON else {
      if countsOnly {
        try console.line("\(count)")
      } else if count == 0 {
        try console.noteEmpty("No documents were found in the collection \(collection).")
      }
      return
    }
    if !countsOnly { writer.endArray() }
    writer.member("count", count)
    writer.member("read", read)
    writer.endObject()
    writer.lineBreak()
    try console.writeJSON(writer.take())
  }
}
