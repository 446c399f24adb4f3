import LatewoodDocuments

extension DocumentModel {
  /// The first difference between a collection and the model; nil if they are equal.
  package func difference(to reads: DocumentReads) throws -> String? {
    for (id, document) in documents {
      guard let head = try reads.head(of: id), let record = try reads.record(of: id) else {
        return "\(id) is missing"
      }
      if head.winner != document.winner || head.isDeleted != document.isDeleted {
        return "another winner of \(id)"
      }
      if head.sequence != document.sequence || head.expiry != document.expiry {
        return "other facts of \(id)"
      }
      if head.hasConflicts != (document.live.count > 1) { return "other conflicts of \(id)" }
      let leaves = record.tree.leaves
      if Set(leaves.map(\.id)) != document.deleted.union(document.live.keys) {
        return "other leaves of \(id)"
      }
      for leaf in leaves where !leaf.isDeleted {
        if try reads.body(at: leaf.body) != document.live[leaf.id] { return "another body of \(id)" }
      }
    }
    let feed = documents.map { ($1.sequence, $0) }.sorted { $0.0 < $1.0 }.map(\.1)
    if try reads.changes().map(\.id) != feed { return "another feed" }
    if try reads.count() != documents.values.count(where: { !$0.isDeleted }) { return "another count" }
    if try reads.lastSequence() != lastSequence { return "another last sequence" }
    if try reads.localNames() != local.keys.sorted() { return "other local documents" }
    for (name, body) in local where try reads.local(name) != body { return "another local body" }
    return nil
  }
}
