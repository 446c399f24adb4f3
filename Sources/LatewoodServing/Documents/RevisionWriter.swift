import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodReplicator

/// Writes revisions as CouchDB shows them.
struct RevisionWriter {
  /// Whether to list the ancestors.
  var revisions = false
  /// Whether to list the ancestors with the information whether their bodies are kept.
  var revisionsInfo = false
  var conflicts = false
  var deletedConflicts = false
  var localSequence = false
  /// Whether attachments are shown with their content.
  var attachments = false
  /// Attachments that one of these revisions does not have are shown with their content.
  var attachmentsSince: [RevisionID]?
  /// Whether the content follows in parts of the message, instead of being in the JSON.
  var follows = false

  init() {}

  /// The options of a request for one document, or of a list with documents.
  init(_ query: APIQuery) throws {
    let meta = query.flag("meta")
    revisions = query.flag("revs")
    revisionsInfo = meta || query.flag("revs_info")
    conflicts = meta || query.flag("conflicts")
    deletedConflicts = meta || query.flag("deleted_conflicts")
    localSequence = query.flag("local_seq")
    attachments = query.flag("attachments")
    attachmentsSince = try query.revisions("atts_since")
  }

  /// Whether the content of any attachment is requested.
  var showsContent: Bool { attachments || attachmentsSince != nil }

  /// Whether members are shown that can change while the revision stays the same.
  func showsMetadata(of tree: RevisionTree) -> Bool {
    revisionsInfo || localSequence || conflicts && !tree.conflicts.isEmpty
      || deletedConflicts && !tree.deletedConflicts.isEmpty
  }

  /// Writes the winner of a document as one value; null if the document or its body is gone.
  func writeWinner(
    of id: String, _ reads: DocumentReads, _ store: DocumentStore, to output: inout JSONOutput
  ) throws {
    guard let record = try reads.record(of: id), let node = record.tree.winner,
      let body = try reads.body(of: node, in: record)
    else { return output.null() }
    try write(id, node, of: record, body, reads, store, to: &output)
  }

  /// Writes some fields of the winner of a document as one value.
  ///
  /// - Parameter projection: the fields; nil for the whole document.
  func writeWinner(
    of id: String, _ projection: Projection?, _ reads: DocumentReads, _ store: DocumentStore,
    to output: inout JSONOutput
  ) throws {
    guard let projection else { return try writeWinner(of: id, reads, store, to: &output) }
    var whole = JSONOutput()
    try writeWinner(of: id, reads, store, to: &whole)
    let text = whole.take()
    let document = try FleeceBody(written: JSON.fleece(from: text))
    let bytes = try document.withRoot { root throws(FleeceError) in
      var writer = FleeceWriter()
      try projection.write(root, to: &writer)
      return try writer.finish()
    }
    try output.value(FleeceBody(written: bytes))
  }

  /// Writes a revision as one value.
  ///
  /// - Parameters:
  ///   - node: a revision of the record.
  ///   - stored: its body as it is stored.
  /// - Returns: the attachments whose content follows in parts, in the order of their members.
  @discardableResult
  func write(
    _ id: String, _ node: RevisionTree.Node, of record: DocumentRecord, _ stored: [UInt8],
    _ reads: DocumentReads, _ store: DocumentStore, to output: inout JSONOutput
  ) throws -> [BodyAttachments.Attachment] {
    try output.checkLength()
    let parts = try BodyAttachments(stored)
    output.beginDictionary()
    output.member("_id", id)
    output.member("_rev", node.id.description)
    if node.isDeleted { output.member("_deleted", true) }
    try RevisionWriter.write(membersOf: parts.body, to: &output)
    let history = record.tree.history(of: node.id)
    if revisions { RevisionWriter.write(history: history.map(\.id), to: &output) }
    if revisionsInfo { try write(information: history, of: record, reads, to: &output) }
    if conflicts { RevisionWriter.write("_conflicts", record.tree.conflicts, to: &output) }
    if deletedConflicts {
      RevisionWriter.write("_deleted_conflicts", record.tree.deletedConflicts, to: &output)
    }
    if localSequence { output.member("_local_seq", record.sequence) }
    let following = try write(parts.attachments, node.id, history.map(\.id), id, reads, store, to: &output)
    output.endDictionary()
    return following
  }

  /// Writes the members of a dictionary into the open one.
  static func write(membersOf body: [UInt8], to output: inout JSONOutput) throws {
    for (name, value) in try FleeceBody(written: body).root.members() ?? [] {
      output.key(name)
      try value.withValue { value throws(FleeceError) in try output.value(value) }
    }
  }

  static func write(history: [RevisionID], to output: inout JSONOutput) {
    guard let newest = history.first else { return }
    output.key("_revisions")
    output.beginDictionary()
    output.member("start", newest.generation)
    output.key("ids")
    output.beginArray()
    for revision in history {
      output.text(String(revision.description.drop { $0 != "-" }.dropFirst()))
    }
    output.endArray()
    output.endDictionary()
  }

  private func write(
    information history: [RevisionTree.Node], of record: DocumentRecord, _ reads: DocumentReads,
    to output: inout JSONOutput
  ) throws {
    output.key("_revs_info")
    output.beginArray()
    for node in history {
      output.beginDictionary()
      output.member("rev", node.id.description)
      let isKept = try reads.body(of: node, in: record) != nil
      output.member("status", node.isDeleted ? "deleted" : isKept ? "available" : "missing")
      output.endDictionary()
    }
    output.endArray()
  }

  private static func write(_ name: String, _ nodes: [RevisionTree.Node], to output: inout JSONOutput) {
    if nodes.isEmpty { return }
    output.key(name)
    output.beginArray()
    for node in nodes { output.text(node.id.description) }
    output.endArray()
  }

  // MARK: - Attachments

  private func write(
    _ attachments: [BodyAttachments.Attachment], _ revision: RevisionID, _ history: [RevisionID],
    _ id: String, _ reads: DocumentReads, _ store: DocumentStore, to output: inout JSONOutput
  ) throws -> [BodyAttachments.Attachment] {
    if attachments.isEmpty { return [] }
    // The newest of the given revisions from which this one follows.
    let known = attachmentsSince?.filter { history.contains($0) }.map(\.generation).max() ?? 0
    var following: [BodyAttachments.Attachment] = []
    output.key(BodyAttachments.member)
    output.beginDictionary()
    for attachment in attachments {
      let position = attachment.revisionPosition ?? revision.generation
      output.key(attachment.name)
      output.beginDictionary()
      output.member("content_type", attachment.contentType)
      output.member("revpos", position)
      let isShown = self.attachments || attachmentsSince != nil && position > known
      // A digest of compressed bytes would not fit the plain ones that are shown.
      if !isShown || attachment.encoding == nil {
        output.member("digest", attachment.sourceDigest ?? attachment.blob.text)
      }
      if isShown, follows {
        following.append(attachment)
        if let length = attachment.length { output.member("length", length) }
        output.member("follows", true)
      } else if isShown, let blob = try store.blob(attachment.blob) {
        output.key("data")
        try output.checkLength(adding: blob.length / 3 * 4)
        try blob.read().withUnsafeBytes { output.data($0) }
      } else {
        if let length = attachment.length { output.member("length", length) }
        output.member("stub", true)
      }
      output.endDictionary()
    }
    output.endDictionary()
    return following
  }
}

extension DocumentReads {
  /// Returns the body of a revision of a record; nil if it is not kept.
  func body(of node: RevisionTree.Node, in record: DocumentRecord) throws -> [UInt8]? {
    if let kept = record.body, node.body == record.sequence { return kept }
    return try body(at: node.body)
  }
}
