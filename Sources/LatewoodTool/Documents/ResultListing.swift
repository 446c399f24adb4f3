import LatewoodFleece

/// Prints the results of a query one by one, in the output form of the console.
struct ResultListing {
  private let console: Console
  private let collection: String
  /// The name of the array of results in JSON output.
  private let name: String
  /// The remark if there are no results.
  private let emptyNote: String
  private var count = 0
  /// Whether no result has been added.
  var isEmpty: Bool { count == 0 }

  init(_ console: Console, collection: String, name: String, emptyNote: String) {
    self.console = console
    self.collection = collection
    self.name = name
    self.emptyNote = emptyNote
  }

  func begin() {
    guard console.printsJSON else { return }
    console.documents.beginDictionary()
    console.documents.member("collection", collection)
    console.documents.key(name)
    console.documents.beginArray()
  }

  mutating func add(_ result: FleeceBody) throws {
    count += 1
    try console.documents.value(result)
    if !console.printsJSON { console.documents.lineBreak() }
    try console.writeDocuments()
  }

  /// - Parameter read: the number of examined documents.
  func end(read: Int) throws {
    guard console.printsJSON else {
      if count == 0 { try console.noteEmpty(emptyNote) }
      return
    }
    console.documents.endArray()
    try console.endDocuments(count: count, read: read)
  }
}

extension Console {
  /// Prints the number of results alone.
  ///
  /// - Parameter read: the number of examined documents.
  func resultCount(_ count: Int, read: Int, collection: String) throws {
    guard printsJSON else { return try line("\(count)") }
    documents.beginDictionary()
    documents.member("collection", collection)
    try endDocuments(count: count, read: read)
  }

  fileprivate func endDocuments(count: Int, read: Int) throws {
    documents.member("count", count)
    documents.member("read", read)
    documents.endDictionary()
    documents.lineBreak()
    try writeDocuments()
  }
}
