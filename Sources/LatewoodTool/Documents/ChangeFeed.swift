import LatewoodConcurrency
import LatewoodDocuments
import LatewoodFleece
import LatewoodStore

/// Prints past and new changes of a collection.
struct ChangeFeed {
  private static let pauseMilliseconds: UInt64 = 50

  private let database: DocumentDatabase
  private let collection: CollectionHandle
  private let console: Console
  private var since: UInt64
  private let limit: UInt64
  private let withDocuments: Bool
  private let withLeaves: Bool
  private var count: UInt64 = 0

  init(
    _ database: DocumentDatabase, _ collection: CollectionHandle, _ console: Console, since: UInt64,
    limit: UInt64, withDocuments: Bool, withLeaves: Bool
  ) {
    self.database = database
    self.collection = collection
    self.console = console
    self.since = since
    self.limit = limit
    self.withDocuments = withDocuments
    self.withLeaves = withLeaves
  }

  mutating func list(descending: Bool) throws {
    let reads = try database.reads(collection)
    if console.printsJSON {
      console.documents.beginDictionary()
      console.documents.member("collection", collection.name)
      console.documents.key("changes")
      console.documents.beginArray()
    }
    try take(reads, descending: descending)
    guard console.printsJSON else {
      if count == 0, limit > 0 {
        let start = since > 0 ? " after sequence \(since)" : ""
        try console.noteEmpty("The collection \(collection.name) has no changes\(start).")
      }
      return
    }
    console.documents.endArray()
    console.documents.member("lastSequence", try reads.lastSequence())
    console.documents.endDictionary()
    console.documents.lineBreak()
    try console.writeDocuments()
  }

  /// Prints past changes, then those of new commits. Each change is printed exactly once, because
  /// the next page always begins after the last printed sequence.
  ///
  /// - Parameter timeoutMilliseconds: the time without a change after which to stop; nil for never.
  mutating func follow(timeoutMilliseconds: UInt64?) throws {
    var quiet: UInt64 = 0
    while true {
      let before = count
      try take(try database.reads(collection), descending: false, isFollowing: true)
      try console.flush()
      if count >= limit { return }
      if count != before { quiet = 0 }
      repeat {
        if let timeoutMilliseconds, quiet >= timeoutMilliseconds { return }
        Monitor.sleep(milliseconds: Self.pauseMilliseconds)
        quiet += Self.pauseMilliseconds
      } while try !refresh()
    }
  }

  private func refresh() throws -> Bool {
    try Failure.naming(database.path) { try database.store.refresh() }
  }

  private mutating func take(
    _ reads: DocumentReads, descending: Bool, isFollowing: Bool = false
  ) throws {
    guard count < limit else { return }
    try reads.forEachChange(since: since, descending: descending) { entry in
      count += 1
      if isFollowing { since = entry.sequence }
      try print(entry, reads, isLine: isFollowing)
      return count < limit
    }
  }

  private mutating func print(_ entry: SequenceEntry, _ reads: DocumentReads, isLine: Bool) throws {
    var leaves: [RevisionID] = []
    var document: FleeceBody?
    if withLeaves { leaves = try reads.record(of: entry.id)?.tree.leaves.map(\.id) ?? [] }
    if withDocuments, let (_, body) = try reads.winner(of: entry.id) {
      document = body.map { FleeceBody($0) }
    }
    guard console.printsJSON else {
      try console.line(line(entry))
      for leaf in leaves.dropFirst() { try console.line("          \(leaf)") }
      if let document {
        let text = try JSON.text(of: document.bytes)
        let shown = text.withUnsafeBytes { ValueText.shown($0.bytes, in: console.width - 10) }
        try console.line("          " + console.style.dim(shown))
      }
      return
    }
    try write(entry, leaves, document, to: &console.documents)
    if isLine { console.documents.lineBreak() }
    try console.writeDocuments()
  }

  private func write(
    _ entry: SequenceEntry, _ leaves: [RevisionID], _ document: FleeceBody?, to writer: inout JSONOutput
  ) throws(FleeceError) {
    writer.beginDictionary()
    writer.member("sequence", entry.sequence)
    writer.member("id", entry.id)
    writer.member("revision", "\(entry.revision)")
    writer.member("deleted", entry.isDeleted)
    writer.member("conflict", entry.hasConflicts)
    if withLeaves {
      writer.array("leaves", leaves) { writer, leaf in writer.text("\(leaf)") }
    }
    if withDocuments {
      writer.key("document")
      if let document { try writer.value(document) } else { writer.null() }
    }
    writer.endDictionary()
  }

  private func line(_ entry: SequenceEntry) -> String {
    let marks = entry.isDeleted ? "  deleted" : entry.hasConflicts ? "  conflict" : ""
    let revision = DisplayWidth.padded(DisplayWidth.fitted("\(entry.revision)", to: 14), to: 14)
    let start = DisplayWidth.padded("\(entry.sequence)", to: 8, right: true) + "  \(revision)  "
    let id = DisplayWidth.fitted(
      KeyText.shown(entry.id.utf8), to: console.width - DisplayWidth.of(start) - marks.count)
    return start + id + (entry.isDeleted ? console.style.dim(marks) : console.style.bad(marks))
  }
}
