import LatewoodFleece

/// Prints the rows of a statement one by one, in the output form of the console.
struct RowListing {
  private let console: Console
  private let collection: String
  private var writer = JSONWriter()
  private var count = 0

  init(_ console: Console, collection: String) {
    self.console = console
    self.collection = collection
  }

  mutating func begin() throws(Failure) {
    guard console.printsJSON else { return }
    writer.beginObject()
    writer.member("collection", collection)
    writer.name("rows")
    writer.beginArray()
  }

  mutating func add(_ row: FleeceBody) throws(Failure) {
    count += 1
    let text: [UInt8]
    do throws(FleeceError) { text = try JSON.text(of: row.bytes) } catch { throw Failure(error) }
    if console.printsJSON {
      writer.raw(text)
      try console.writeJSON(writer.take())
    } else {
      try console.writeJSON(text + [UInt8(ascii: "\n")])
    }
  }

  /// - Parameter read: the number of examined documents.
  mutating func end(read: Int) throws(Failure) {
    guard console.printsJSON else {
      if count == 0 { try console.noteEmpty("The statement gives no rows.") }
      return
    }
    writer.endArray()
    writer.member("count", count)
    writer.member("read", read)
    writer.endObject()
    writer.lineBreak()
    try console.writeJSON(writer.take())
  }
}
