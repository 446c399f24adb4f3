import LatewoodDocuments
import LatewoodFleece

extension CommandDescription {
  static let collections = CommandDescription(
    name: "collections",
    summary: "list the collections of documents",
    operands: [.database],
    discussion: [
      "Each line is a collection: how many documents it has, how many of them have conflicts, how many "
        + "tombstones of deleted documents there are, and the last sequence of its feed."
    ],
    examples: [
      ExampleDescription(
        line: "latewood collections films.latewood", explanation: "The collections in the file.")
    ],
    json: [
      #"{"collections":[{"name":"NAME","documents":NUMBER,"conflicts":NUMBER,"#,
      #"  "tombstones":NUMBER,"lastSequence":NUMBER,"#,
      #"  "indexes":[as `latewood index` prints them]}, ...]}"#,
    ]
  ) { arguments, console in
    let facts = try DocumentDatabase.reading(arguments).closing { database in
      try CollectionFacts.all(of: database.store)
    }
    if console.printsJSON {
      try console.object { writer in
        writer.array("collections", facts) { writer, fact in fact.write(to: &writer) }
      }
    } else {
      for fact in facts { try console.line(fact.line(in: console.width)) }
    }
    return .success
  }
}

/// The counts that the tool shows for a collection.
struct CollectionFacts {
  let name: String
  let documents: Int
  let conflicts: Int
  let tombstones: Int
  let lastSequence: UInt64
  let indexes: [ListedIndex]

  static func all(of store: DocumentStore) throws -> [CollectionFacts] {
    var list: [CollectionFacts] = []
    let snapshot = try store.snapshot()
    for name in try snapshot.collectionNames() {
      guard let collection = try store.collection(name) else { continue }
      let reads = try snapshot.reads(collection)
      var query = AllDocumentsQuery()
      query.onlyConflicts = true
      let totals = try reads.totals()
      list.append(
        CollectionFacts(
          name: name, documents: totals.documents, conflicts: try reads.count(query),
          tombstones: totals.tombstones, lastSequence: try reads.lastSequence(),
          indexes: try reads.listedIndexes()))
    }
    return list
  }

  func line(in width: Int) -> String {
    var text = DisplayWidth.padded(DisplayWidth.fitted(KeyText.shown(name.utf8), to: 28), to: 30)
    text += Quantity.count(documents, "document", "documents")
    if conflicts > 0 { text += ", \(Quantity.count(conflicts)) in conflict" }
    if tombstones > 0 { text += ", \(Quantity.count(tombstones)) deleted" }
    return DisplayWidth.fitted(text, to: width)
  }

  func write(to writer: inout JSONOutput) {
    writer.beginDictionary()
    writer.member("name", name)
    writer.member("documents", documents)
    writer.member("conflicts", conflicts)
    writer.member("tombstones", tombstones)
    writer.member("lastSequence", lastSequence)
    writer.array("indexes", indexes) { writer, index in index.write(to: &writer) }
    writer.endDictionary()
  }
}
