import LatewoodDocuments
import LatewoodFleece
import LatewoodHTTP
import LatewoodStore

/// Lists of documents by id: `_all_docs`, `_design_docs`, `_local_docs`.
struct ListEndpoints {
  private let database: ServedDatabase

  init(_ database: ServedDatabase) { self.database = database }

  func answer(_ name: String, _ call: APICall) throws -> APIResponse {
    try call.allow("GET,HEAD,POST")
    var query = call.query
    if call.method == "POST" {
      try call.requireJSON()
      query = try query.adding(call.object())
    }
    let reads = try database.reads()
    if call.path.count == 3, call.path[2] == "queries", call.method == "POST" {
      return try queries(name, call, reads)
    }
    guard call.path.count == 2 else { throw APIError.missing }
    return try APIResponse { output in try list(name, query, reads, to: &output) }
  }

  private func queries(_ name: String, _ call: APICall, _ reads: DocumentReads) throws -> APIResponse {
    guard let list = try call.object().element(for: "queries")?.elements() else {
      throw APIError.badRequest("`queries` member must exist.")
    }
    return try APIResponse { output in
      output.beginDictionary()
      output.key("results")
      output.beginArray()
      for options in list { try self.list(name, call.query.adding(options), reads, to: &output) }
      output.endArray()
      output.endDictionary()
    }
  }

  private func list(
    _ name: String, _ query: APIQuery, _ reads: DocumentReads, to output: inout JSONOutput
  ) throws {
    let options = try ListOptions(query)
    let view = try RevisionWriter(query)
    output.beginDictionary()
    if name == "_local_docs" {
      try listLocal(options, reads, to: &output)
    } else {
      let isDesign = name == "_design_docs"
      try listDocuments(options, view, isDesign: isDesign, reads, to: &output)
    }
    output.endDictionary()
  }

  // MARK: - Documents

  private func listDocuments(
    _ options: ListOptions, _ view: RevisionWriter, isDesign: Bool, _ reads: DocumentReads,
    to output: inout JSONOutput
  ) throws {
    var all = AllDocumentsQuery()
    all.prefix = isDesign ? NameRules.designPrefix : nil
    output.member("total_rows", try reads.count(all))
    output.key("offset")
    if options.keys != nil {
      output.null()
    } else {
      var before = all
      var count = 0
      if isDesign {
        // As in CouchDB, documents of all kinds before the first one count.
        before.prefix = nil
        before.through = NameRules.designPrefix
        count = try reads.count(before)
      } else if let range = options.rangeBefore {
        before.range = range
        count = try reads.count(before)
      }
      output.integer(Int64(clamping: UInt64(count) + UInt64(options.skip)))
    }
    if options.includesSequence { output.member("update_seq", database.text(of: try reads.lastSequence())) }
    output.key("rows")
    output.beginArray()
    if let keys = options.keys {
      let ordered = options.isDescending ? Array(keys.reversed()) : keys
      for key in ordered.dropFirst(options.skip).prefix(options.limit) {
        try write(key, options, view, isDesign: isDesign, reads, to: &output)
      }
    } else if let range = options.range, options.limit > 0 {
      all.range = range
      all.descending = options.isDescending
      try writeRows(all, options, view, reads, to: &output)
    }
    output.endArray()
  }

  private func writeRows(
    _ query: AllDocumentsQuery, _ options: ListOptions, _ view: RevisionWriter, _ reads: DocumentReads,
    to output: inout JSONOutput
  ) throws {
    var (skipped, written) = (0, 0)
    // A closure cannot write to an inout value that may not be copied, so pages are read first.
    var rows: [(id: String, head: DocumentRecord.Head)] = []
    try reads.forEachDocument(query) { id, head in
      if skipped < options.skip {
        skipped += 1
        return true
      }
      rows.append((id, head))
      written += 1
      return written < options.limit
    }
    for (id, head) in rows {
      try write(id, head, options, view, reads, to: &output)
    }
  }

  private func write(
    _ key: FleeceElement, _ options: ListOptions, _ view: RevisionWriter, isDesign: Bool,
    _ reads: DocumentReads, to output: inout JSONOutput
  ) throws {
    if let id = try key.string(), !isDesign || id.begins(withBytes: NameRules.designPrefix),
      let head = try reads.head(of: id)
    {
      return try write(id, head, options, view, reads, to: &output)
    }
    try ListEndpoints.writeMissing(key, to: &output)
  }

  private static func writeMissing(_ key: FleeceElement, to output: inout JSONOutput) throws {
    try output.checkLength()
    output.beginDictionary()
    output.key("key")
    try key.withValue { value throws(FleeceError) in try output.value(value) }
    output.member("error", "not_found")
    output.endDictionary()
  }

  private func write(
    _ id: String, _ head: DocumentRecord.Head, _ options: ListOptions, _ view: RevisionWriter,
    _ reads: DocumentReads, to output: inout JSONOutput
  ) throws {
    try ListEndpoints.write(
      id, revision: head.winner.description, isDeleted: head.isDeleted, options, to: &output
    ) { output in
      if head.isDeleted {
        output.null()
      } else {
        try view.writeWinner(of: id, reads, database.store, to: &output)
      }
    }
  }

  /// Writes a row.
  ///
  /// - Parameter document: writes the document as one value; called only if rows have documents.
  private static func write(
    _ id: String, revision: String, isDeleted: Bool = false, _ options: ListOptions,
    to output: inout JSONOutput, document: (inout JSONOutput) throws -> Void
  ) throws {
    try output.checkLength()
    output.beginDictionary()
    output.member("id", id)
    output.member("key", id)
    output.key("value")
    output.beginDictionary()
    output.member("rev", revision)
    if isDeleted { output.member("deleted", true) }
    output.endDictionary()
    if options.includesDocuments {
      output.key("doc")
      try document(&output)
    }
    output.endDictionary()
  }

  // MARK: - Local documents

  private func listLocal(
    _ options: ListOptions, _ reads: DocumentReads, to output: inout JSONOutput
  ) throws {
    output.key("total_rows")
    output.null()
    output.key("offset")
    output.null()
    output.key("rows")
    output.beginArray()
    if let keys = options.keys {
      for key in keys.dropFirst(options.skip).prefix(options.limit) {
        if let id = try key.string(), let name = id.dropping(bytes: LocalEndpoints.prefix),
          let stored = try reads.localDocument(name)
        {
          try ListEndpoints.write(id, stored, options, to: &output)
        } else {
          try ListEndpoints.writeMissing(key, to: &output)
        }
      }
    } else {
      let ids = try reads.localNames().map { LocalEndpoints.prefix + $0 }.filter { options.contains($0) }
      let ordered = options.isDescending ? ids.reversed() : ids
      for id in ordered.dropFirst(options.skip).prefix(options.limit) {
        guard let name = id.dropping(bytes: LocalEndpoints.prefix),
          let stored = try reads.localDocument(name)
        else { continue }
        try ListEndpoints.write(id, stored, options, to: &output)
      }
    }
    output.endArray()
  }

  private static func write(
    _ id: String, _ stored: (revision: String, body: [UInt8]), _ options: ListOptions,
    to output: inout JSONOutput
  ) throws {
    try write(id, revision: stored.revision, options, to: &output) { output in
      try LocalEndpoints.write(id, stored, to: &output)
    }
  }
}

extension ListOptions {
  /// Whether a key is in the range.
  func contains(_ key: String) -> Bool {
    guard let range else { return false }
    let key = Array(key.utf8)
    let isAbove =
      switch range.lower {
      case .unbounded: true
      case .included(let bound): !key.lexicographicallyPrecedes(bound)
      case .excluded(let bound): bound.lexicographicallyPrecedes(key)
      }
    let isBelow =
      switch range.upper {
      case .unbounded: true
      case .included(let bound): !bound.lexicographicallyPrecedes(key)
      case .excluded(let bound): key.lexicographicallyPrecedes(bound)
      }
    return isAbove && isBelow
  }
}

extension APIQuery {
  /// Returns the options together with those in the body of a request.
  func adding(_ body: FleeceElement) throws -> APIQuery {
    var added: [HTTPTarget.Item] = []
    for (name, value) in try body.members() ?? [] {
      var output = JSONOutput()
      try value.withValue { value throws(FleeceError) in try output.value(value) }
      added.append(HTTPTarget.Item(name, String(decoding: output.take(), as: UTF8.self)))
    }
    return adding(added)
  }
}
