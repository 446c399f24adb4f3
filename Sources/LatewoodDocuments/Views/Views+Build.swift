import LatewoodStore

/// The progress of catching up a view.
package struct ViewProgress: BuildProgress, Equatable {
  /// The number of changes that the view still lacks.
  package var behind: UInt64
  package var isCurrent: Bool { behind == 0 }

  var isComplete: Bool { isCurrent }
}

/// The build of one view, which catches it up with the feed.
struct ViewBuild: StepwiseBuild {
  let definition: ViewDefinition
  let collection: CollectionHandle
  /// The maximum number of documents in a step, which delays other writers by a few milliseconds.
  var limit = 1000

  /// The total length of values after which a step ends, in bytes.
  static let stepBytes = 4 << 20

  init(_ definition: ViewDefinition, of collection: CollectionHandle) {
    self.definition = definition
    self.collection = collection
  }

  var durability: Durability? { nil }

  func step(in batch: DocumentBatch) throws -> ViewProgress {
    // A map would see a view in the middle of a change, or recurse endlessly.
    try batch.refuseInMap("a view is read")
    return try Views(batch, of: collection).step(self)
  }

  /// Does nothing: another build continues.
  func giveUp(after error: any Error, last: ViewProgress?, in store: DocumentStore) {}
}

/// Beginning, catching up and dropping views.
extension Views {
  /// Performs one step of catching up a view, and begins it if this version does not exist.
  ///
  /// A committed step survives a crash. Once a step finds nothing more to do, every change by this
  /// process keeps the view up to date.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` for an invalid name; `notFound` if the view was
  ///   dropped after its registration; `conflict` if another version was registered; `busy` in a
  ///   map function.
  fileprivate func step(_ build: ViewBuild) throws -> ViewProgress {
    let (definition, limit) = (build.definition, build.limit)
    let view = try current(definition)
    if view.isKept { return ViewProgress(behind: 0) }
    guard let known = view.definition else {
      throw DatabaseError(.conflict, "the view \(definition.name) has no map")
    }
    var (entries, bytes, isWhole): ([SequenceEntry], Int, Bool) = ([], 0, true)
    let range = KeyRange(lower: .excluded(SequenceEntry.key(view.view.record.through)))
    try transaction.forEach(in: spaces.sequences, range) { key, value in
      guard entries.count < limit else {
        isWhole = false
        return false
      }
      entries.append(
        try key.reading { (key) throws(DatabaseError) in
          try value.reading { (value) throws(DatabaseError) in try SequenceEntry(key: key, value: value) }
        })
      return true
    }
    for (place, entry) in entries.enumerated() {
      let revision = try transaction.mapValue(entry.id, in: spaces.documents) { value in
        try value.reading { (bytes) throws(DatabaseError) in
          IndexedRevision(try DocumentRecord.Head(bytes), in: bytes)
        }
      }
      if let revision {
        let rows = try rows(of: entry.id, revision, known)
        bytes += rows.values.reduce(64) { $0 + $1.count }
        try replaceRows(of: entry.id, with: rows, in: view)
      } else {
        try replaceRows(of: entry.id, with: (nil, []), in: view)
      }
      view.view.record.through = entry.sequence
      if bytes >= ViewBuild.stepBytes, place + 1 < entries.count {
        isWhole = false
        break
      }
    }
    batch.changeCount += 1
    if isWhole {
      view.isKept = true
      return ViewProgress(behind: 0)
    }
    return ViewProgress(behind: max(1, part.state.lastSequence &- view.view.record.through))
  }

  /// Returns the registered version of a view, beginning it if the file does not contain it.
  private func current(_ definition: ViewDefinition) throws -> ViewBatch {
    let name = definition.name
    if let reason = NameRules.objection(toView: name) {
      throw DatabaseError(.invalidParameter, "the name of the view \(reason)")
    }
    try batch.core.checkRegistered(definition, of: part.collection)
    let known = try loaded().first { $0.view.name == name }
    if let known, known.definition != nil { return known }
    if let known, definition.makesRows(of: known.view.record) {
      // The view was registered during this batch: earlier changes of the batch have not been
      // mapped.
      let next = ViewBatch(known.view, definition, isStored: true, isKept: false)
      part.views = (part.views ?? []).map { $0 === known ? next : $0 }
      return next
    }
    batch.changeCount += 1
    part.state.indexChanges += 1
    let record = ViewRecord(
      number: part.state.indexChanges, version: definition.version, reduction: definition.reduction)
    if let known {
      try batch.remove(known.view, of: part.name)
    } else {
      part.state.views += 1
    }
    let view = try CollectionView(name, record, of: part.name, in: transaction)
    let next = ViewBatch(view, definition, isStored: false, isKept: false)
    part.views = (part.views ?? []).filter { $0.view.name != name } + [next]
    return next
  }

  /// Drops a view in O(log n). Returns false if there was none.
  func drop(_ name: String) throws -> Bool {
    guard part.state.views > 0, let known = try loaded().first(where: { $0.view.name == name }) else {
      return false
    }
    batch.noteRemoval()
    try batch.remove(known.view, of: part.name)
    part.state.views -= 1
    part.state.indexChanges += 1
    part.views = (part.views ?? []).filter { $0 !== known }
    let (core, identity) = (batch.core, part.collection.identity)
    batch.onCompletion { isCommitted in
      if isCommitted { core.views.forget(name, of: identity) }
    }
    return true
  }

  func defined() throws -> [any DefinedData] {
    try CollectionView.load(of: part.name, in: database, transaction)
  }

  /// Empties all views. They have no rows until a program that has registered them catches them up.
  func reset() throws -> [any StepwiseBuild] {
    let definitions = try removeAll(ViewRecord.self)
    for (name, old) in definitions {
      part.state.indexChanges += 1
      let record = ViewRecord(
        number: part.state.indexChanges, version: old.version, reduction: old.reduction)
      _ = try CollectionView(name, record, of: part.name, in: transaction)
      try transaction.put(ViewRecord.key(name, of: part.name), record.encoded(), in: database)
    }
    part.state.views = UInt64(definitions.count)
    part.views = nil
    return []
  }
}

extension DocumentBatch {
  /// Throws `busy` while a map function runs, because the call would see or cause an incomplete
  /// change.
  func refuseInMap(_ what: String) throws(DatabaseError) {
    guard isMapping else { return }
    throw DatabaseError(
      .busy, "\(what) inside the map of a view", advice: "Let the map only read its document and emit rows.")
  }
}

extension DocumentCore {
  /// Throws `notFound` if a view is no longer registered, `conflict` if another version is
  /// registered.
  func checkRegistered(
    _ definition: ViewDefinition, of collection: CollectionHandle
  ) throws(DatabaseError) {
    guard let known = views.view(definition.name, of: collection.identity) else {
      throw DatabaseError(.notFound, "the view \(definition.name) has been dropped")
    }
    guard known.version == definition.version, known.reduction == definition.reduction else {
      throw DatabaseError(
        .conflict,
        "the view \(definition.name) has been registered again with the version \(known.version)")
    }
  }
}
