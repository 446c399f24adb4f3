import LatewoodDocuments
import LatewoodFleece

/// The output of `doc get`, `doc revisions` and `doc conflicts`: a document with its revisions.
struct DocumentView {
  let id: String
  let record: DocumentRecord
  private let reads: DocumentReads

  /// - Throws: `Failure` if the document does not exist.
  init(_ id: String, _ reads: DocumentReads) throws {
    self.id = id
    self.reads = reads
    let record = try reads.record(of: id)
    guard let record else { throw Self.missing(id, "no document has the id") }
    self.record = record
  }

  func show(_ action: String, revision: String?, on console: Console) throws {
    switch action {
    case "get":
      let body = FleeceBody(try body(of: revision))
      try console.documents.value(body)
      console.documents.lineBreak()
      try console.writeDocuments()
    case "revisions": try drawing().print(id, record.tree.nodes, on: console)
    default:
      let conflicts = record.tree.conflicts
      if conflicts.isEmpty {
        try console.noteEmpty("The document \(Arguments.quoted(Array(id.utf8))) has no conflicts.")
      }
      try drawing().print(id, conflicts, on: console)
    }
  }

  static func missing(_ id: String, _ what: String) -> Failure {
    Failure(
      .no, code: "notFound", "\(what) \(Arguments.quoted(Array(id.utf8)))",
      advice: "`latewood doc list` lists the documents of a collection.")
  }

  /// Returns the revision with an id, or with an id that starts with the given digits.
  static func revision(_ text: String, in tree: RevisionTree) throws -> RevisionID {
    let found = tree.nodes.map(\.id).filter { "\($0)".hasPrefix(text) }
    if let id = found.first, found.count == 1 { return id }
    if let id = found.first(where: { "\($0)" == text }) { return id }
    let quoted = Arguments.quoted(Array(text.utf8))
    guard found.isEmpty else {
      throw Failure.usage(
        "\(found.count) revisions start with \(quoted)", advice: "Give more digits of the one.")
    }
    throw Failure(
      .no, code: "noSuchRevision", "the document has no revision \(quoted)",
      advice: "`latewood doc revisions` shows those that it has.")
  }

  private func body(of wanted: String?) throws -> [UInt8] {
    guard let winner = record.tree.winner else { throw Self.missing(id, "no document has the id") }
    let revision = try wanted.map { text in try Self.revision(text, in: record.tree) }
    if revision == nil, winner.isDeleted {
      throw Self.missing(id, "there is only a tombstone of the document")
    }
    guard let body = try reads.body(of: revision ?? winner.id, in: record) else {
      throw Failure(
        .no, code: "noBody", "the content of the revision \(revision ?? winner.id) has been discarded",
        advice: "A compaction drops the content of revisions that are not current.")
    }
    return body
  }

  private func drawing() throws -> RevisionDrawing {
    var lengths: [RevisionID: Int] = [:]
    for node in record.tree.nodes {
      lengths[node.id] = try reads.withBody(at: node.body) { $0.count }
    }
    return RevisionDrawing(record.tree, bodyLengths: lengths)
  }
}
