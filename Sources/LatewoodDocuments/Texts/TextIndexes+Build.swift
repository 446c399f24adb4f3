import LatewoodQuery
import LatewoodStore
import LatewoodText

/// The build of one full-text index.
struct TextIndexBuild: StepwiseBuild {
  let name: String
  let definition: TextDefinition
  let collection: CollectionHandle
  /// The number of documents in a step.
  var limit = 8000
  /// The length of the texts of a step, in bytes; the step ends with the document that exceeds it.
  /// Their words become a segment, in which a term is the more compact the more documents it is of,
  /// but writers wait for a step.
  var textLength = 3 << 20
  /// The number of segments with which a merge begins before all documents are in the index.
  var segmentLimit = 64
  /// The length of the changes in a step of a merge, in bytes.
  var mergeLength = 4 << 20
  /// Whether documents whose body is lost are left out.
  var isSalvaged = false

  init(_ name: String, _ definition: TextDefinition, of collection: CollectionHandle) {
    self.name = name
    self.definition = definition
    self.collection = collection
  }

  var durability: Durability? { .relaxed }

  func step(in batch: DocumentBatch) throws -> IndexBuildProgress {
    try batch.refuseInMap("an index is created")
    return try TextIndexes(batch, of: collection).step(self)
  }

  /// Drops the index, unless another caller created or completed it or the next attempt may
  /// succeed.
  func giveUp(
    after error: any Error, last: IndexBuildProgress?, in store: DocumentStore
  ) throws(DatabaseError) {
    if error is StoreError || error is DatabaseError || error is TextIndexDamage { return }
    let isCompleted = last.map { $0.isReady && !$0.wasReady } ?? false
    try store.drop(name, of: TextIndexes.self, in: collection, evenIfReady: isCompleted)
  }
}

/// Creating and dropping full-text indexes.
extension TextIndexes: DroppableIndexes {
  /// Performs one step of a build, and begins it if necessary.
  ///
  /// Each step adds the words of more documents, by id, as a segment of recent changes. When there
  /// are many segments, and after the last document, steps merge them. A change of a document that
  /// the build has processed updates the index; other documents are read later, with their changes.
  /// A committed step survives a crash. Queries use the index once it is ready.
  ///
  /// - Throws: ``DatabaseError`` `conflict` if another index has the name; `invalidParameter` for
  ///   an invalid name; `corruptData`.
  fileprivate func step(_ build: TextIndexBuild) throws -> IndexBuildProgress {
    let index = try begun(build)
    switch index.text.record.progress {
    case .complete:
      var progress = try progress(index)
      progress.wasReady = true
      return progress
    case .merging:
      if try index.merge(from: 1, length: build.mergeLength) != true { complete(index) }
    case .through(let start):
      // The step that completes a merge adds documents too. Otherwise a build would only merge
      // while others add enough segments for the next merge.
      if try index.merge(from: build.segmentLimit, length: build.mergeLength) == true { break }
      let last = try addDocuments(to: index, after: start, build)
      index.text.record.progress = last.map { .through($0) } ?? .merging
      if try !index.finishStep(isLast: last == nil), last == nil { complete(index) }
    }
    batch.changeCount += 1
    try put(index)
    return try progress(index)
  }

  private func complete(_ index: TextIndexBatch) {
    index.text.record.progress = .complete
    part.state.indexChanges += 1
  }

  /// Returns the index of a build, which is created or emptied if necessary.
  private func begun(_ build: TextIndexBuild) throws -> TextIndexBatch {
    let (name, definition) = (build.name, build.definition)
    if let reason = NameRules.objection(toIndex: name) {
      throw DatabaseError(.invalidParameter, "the name of the index \(reason)")
    }
    if let known = try loaded().first(where: { $0.text.name == name }) {
      guard known.text.definition.hasWords(of: definition) else {
        throw DatabaseError(
          .conflict, "there is another full-text index \(name): \(known.text.definition.text)",
          advice: "Drop it first, or choose another name.")
      }
      try setWeights(definition, of: known)
      if !known.text.isCurrent { try startOver(known) }
      return known
    }
    if part.state.indexes > 0, try Indexes(batch, part).storedIndex(name) != nil {
      throw DatabaseError(
        .conflict, "there is another index \(name), which is not a full-text index",
        advice: "Drop it first, or choose another name.")
    }
    part.state.texts += 1
    part.state.indexChanges += 1
    let record = TextIndexRecord(definition, number: part.state.indexChanges, .through(""))
    let words = try transaction.keyspace(record.wordsName(of: part.name))
    let index = TextIndexBatch(CollectionText(name: name, record: record, words: words), transaction)
    part.texts = ((part.texts ?? []) + [index]).sorted { SortKey.isLess($0.text.name, $1.text.name) }
    return index
  }

  /// Replaces the definition of an index by one with other weights.
  private func setWeights(_ definition: TextDefinition, of index: TextIndexBatch) throws {
    guard index.text.definition != definition else { return }
    index.text.record.definition = definition
    // Prepared queries have the weights.
    part.state.indexChanges += 1
    try put(index)
  }

  /// Adds the words of the next documents.
  ///
  /// - Parameter start: the last document that the build has processed.
  /// - Returns: the last document that it has processed now; nil after the last of all.
  private func addDocuments(
    to index: TextIndexBatch, after start: String, _ build: TextIndexBuild
  ) throws -> String? {
    let range = start.isEmpty ? KeyRange.all : KeyRange(lower: .excluded(Array(start.utf8)))
    var found: [(id: String, texts: TextIndexWriter.Texts)] = []
    var (seen, length) = (0, 0)
    // Set by the document that ends the step.
    var last: String?
    // A transaction cannot change while it is read.
    try transaction.visit(in: spaces.documents, range) { key, value in
      let id = key.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
      let revision = try value.reading { (bytes) throws(DatabaseError) in
        IndexedRevision(try DocumentRecord.Head(bytes), in: bytes)
      }
      do throws(DatabaseError) {
        if let texts = try texts(of: id, revision, [build.definition])?.first {
          length += texts.reduce(0) { $1.reduce($0) { $0 + $1.utf8.count } }
          found.append((id, texts))
        }
      } catch {
        guard build.isSalvaged, error.code == .corruptData else { throw error }
      }
      seen += 1
      if seen == build.limit || length > build.textLength { last = id }
      return last == nil
    }
    for document in found { try index.change(document.id, from: nil, to: document.texts) }
    return last
  }

  private func progress(_ index: TextIndexBatch) throws -> IndexBuildProgress {
    let total = try transaction.count(in: spaces.documents)
    var completed = total
    if case .through(let last) = index.text.record.progress {
      completed = last.isEmpty ? 0 : try transaction.count(in: spaces.documents, .through(last))
    }
    return IndexBuildProgress(completed: completed, total: total, isReady: index.text.isComplete)
  }

  func drop(_ name: String, evenIfReady: Bool) throws -> Bool {
    guard part.state.texts > 0, let index = try loaded().first(where: { $0.text.name == name }) else {
      return false
    }
    if !evenIfReady, index.text.isComplete { return false }
    batch.noteRemoval()
    index.abandon()
    try batch.remove(index.text, of: part.name)
    part.state.texts -= 1
    part.state.indexChanges += 1
    // Others keep their collected changes.
    part.texts?.removeAll { $0 === index }
    return true
  }

  /// Removes all indexes, including damaged ones. The builds are of those whose definitions can be
  /// read.
  func reset() throws -> [any StepwiseBuild] {
    for index in part.texts ?? [] { index.abandon() }
    let definitions = try removeAll(TextIndexRecord.self)
    part.state.texts = 0
    part.state.indexChanges += 1
    part.texts = nil
    return definitions.map { name, record in
      var build = TextIndexBuild(name, record.definition, of: part.collection)
      build.isSalvaged = true
      return build
    }
  }
}
