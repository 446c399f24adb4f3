import LatewoodDocuments
import LatewoodFleece

/// The demonstration of documents.
extension DemoRun {
  func useDocuments(_ store: DocumentStore) throws {
    guard let cores = try store.collection(CollectionHandle.defaultName) else {
      throw Failure(.no, code: "noCollection", "the default collection is missing")
    }
    try save(store, cores)
    try change(store, cores)
    try merge(store, cores)
    try follow(store, cores)
    try keepBlob(store, cores)
    try expire(store, cores)
    try compact(store, cores)
  }

  private func save(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    let entries = TreeCores.entries()
    try step("save") {
      try store.write { writer in
        for entry in entries {
          try writer.save(entry.key, in: cores, body: try JSON.fleece(from: entry.value), parent: nil)
        }
      }
      let count = try store.reads(cores).count()
      return (count == entries.count, "Saved \(count) tree cores, documents of JSON, in one durable batch.")
    }
    try step("read") {
      let entry = entries[16]
      let name = try store.reads(cores).document(entry.key).flatMap { try text("name", in: $0.body) }
      return (name == "Scots pine", "Read one field of \(entry.key): \(name ?? "nothing").")
    }
    try step("query") {
      var query = AllDocumentsQuery()
      query.range = .prefix("quercus-")
      var ids: [String] = []
      try store.reads(cores).forEachDocument(query) { id, _ in
        ids.append(id)
        return true
      }
      let expected = entries.map(\.key).filter { $0.hasPrefix("quercus-") }.sorted()
      return (ids == expected, "Asked for the documents quercus-…: \(ids.count) oaks, in order.")
    }
  }

  private func change(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    try step("conflict") {
      let id = "taxus-baccata/core-035"
      let reads = try store.reads(cores)
      guard let found = try reads.document(id) else { return (false, "\(id) is not there.") }
      let mine = try JSON.fleece(from: #"{"name":"yew","rings":301}"#)
      let theirs = try JSON.fleece(from: #"{"name":"yew","remark":"hollow"}"#)
      let second = try store.write {
        try $0.save(id, in: cores, body: theirs, parent: found.head.winner)
      }
      var isRefused = false
      do {
        try store.write { _ = try $0.save(id, in: cores, body: mine, parent: found.head.winner) }
      } catch let error as DatabaseError where error.code == .conflict {
        isRefused = true
      }
      let merged = try JSON.fleece(from: #"{"name":"yew","remark":"hollow","rings":301}"#)
      let third = try store.write { try $0.save(id, in: cores, body: merged, parent: second.revision) }
      return (
        isRefused && third.revision.generation == 3,
        "Two edited the same yew: the second save was refused as a conflict. Merged and saved: \(short(third.revision))."
      )
    }
  }

  private func merge(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    try step("replica") {
      let id = "pinus-cembra/core-034"
      guard let found = try store.reads(cores).document(id) else { return (false, "\(id) is not there.") }
      // A concurrent edit of another replica.
      let theirs = try JSON.fleece(from: #"{"name":"stone pine","metres":2100}"#)
      let algorithm = try store.format().digestAlgorithm
      let remote = try theirs.withUnsafeBytes {
        try RevisionID(editing: found.head.winner, isDeleted: false, body: $0, by: algorithm)
      }
      let ours = try JSON.fleece(from: #"{"name":"stone pine","rings":412}"#)
      try store.write { writer in
        try writer.save(id, in: cores, body: ours, parent: found.head.winner)
        try writer.insert(id, in: cores, history: [remote, found.head.winner], body: theirs)
      }
      var query = AllDocumentsQuery()
      query.onlyConflicts = true
      let waiting = try store.reads(cores).count(query)
      let merged = try JSON.fleece(from: #"{"name":"stone pine","metres":2100,"rings":412}"#)
      let tombstone = try JSON.fleece(from: "{}")
      try store.write { writer in
        try writer.resolveConflicts(of: id, in: cores, merged: merged, tombstone: tombstone)
      }
      let rest = try store.reads(cores).count(query)
      return (
        waiting == 1 && rest == 0,
        "An edit arrived from another replica: both were kept, \(waiting) document in conflict. Merged: \(rest) left."
      )
    }
  }

  private func follow(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    try step("changes") {
      let changes = try store.reads(cores).changes(since: UInt64(TreeCores.count))
      let ids = changes.map(\.id)
      return (
        ids == ["taxus-baccata/core-035", "pinus-cembra/core-034"],
        "Asked what changed since the first batch: \(ids.joined(separator: ", "))."
      )
    }
  }

  private func keepBlob(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    try step("blob") {
      let content = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
      let blob = try store.putBlob(content)
      let twice = try store.putBlob(content)
      let name = "sha256-\(Base64.encode(blob.digest.bytes))"
      let body = try JSON.fleece(
        from: #"{"photo":{"@type":"blob","digest":"\#(name)","length":\#(blob.length)}}"#)
      try store.write { writer in
        for id in ["photo-1", "photo-2"] {
          try writer.save(id, in: cores, body: body, parent: nil, blobs: BlobReferences.find(in: body))
        }
      }
      let part = try blob.read(1_500_000..<1_500_010)
      return (
        blob.digest == twice.digest && part == Array(content[1_500_000..<1_500_010]),
        "Kept a blob of \(Quantity.bytes(blob.length)) once for two documents, and read ten bytes of its middle."
      )
    }
  }

  private func expire(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    try step("expiry") {
      try store.write { try $0.setExpiry(of: "photo-2", in: cores, 1) }
      try store.purgeExpired()
      let reads = try store.reads(cores)
      let isGone = try reads.head(of: "photo-2") == nil && reads.head(of: "photo-1") != nil
      return (isGone, "Let one of the two expire: it is gone without a trace, the other is there.")
    }
  }

  private func compact(_ store: DocumentStore, _ cores: CollectionHandle) throws {
    try step("compaction") {
      let before = try store.reads(cores).record(of: "taxus-baccata/core-035")?.tree.leaves.count
      let report = try store.compact()
      let after = try store.reads(cores).record(of: "taxus-baccata/core-035")?.tree.leaves.count
      return (
        report.bytesAfter <= report.bytesBefore && before == after,
        "Compacted while it was open: \(Quantity.bytes(report.bytesBefore)) became \(Quantity.bytes(report.bytesAfter))."
      )
    }
  }

  private func text(_ key: String, in body: [UInt8]) throws -> String? {
    try FleeceBody(body).root.element(for: key)?.string()
  }

  private func short(_ revision: RevisionID) -> String { "revision " + revision.description.prefix(9) + "…" }
}
