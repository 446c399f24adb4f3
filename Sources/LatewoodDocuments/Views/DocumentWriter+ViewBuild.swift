import LatewoodStore

/// The progress of catching up a view.
package struct ViewProgress: Sendable, Equatable {
  /// The number of changes that the view still lacks.
  package var behind: UInt64
  package var isCurrent: Bool { behind == 0 }
}

/// Beginning, catching up and dropping views.
extension DocumentWriter {
  /// The maximum number of documents in one step, which delays other writers by a few milliseconds.
  static let viewStep = 1000
  /// The total length of values after which a step ends, in bytes.
  static let viewStepBytes = 4 << 20

  /// Performs one step of catching up a view, and begins it if this version does not exist.
  ///
  /// A committed step survives a crash. Once a step finds nothing more to do, every change by this
  /// process keeps the view up to date.
  ///
  /// - Throws: ``DocumentError`` `badArgument` for an invalid name; `notFound` if the view was
  ///   dropped after its registration; `conflict` if another version was registered; `busy` in a
  ///   map function.
  func catchUp(
    _ definition: ViewDefinition, in collection: CollectionHandle, limit: Int = DocumentWriter.viewStep
  ) throws(DocumentError) -> ViewProgress {
    // A map would see a view in the middle of a change, or recurse endlessly.
    try refuseInMap("a view is read")
    let work = try work(collection)
    let view = try current(definition, work)
    if view.isKept { return ViewProgress(behind: 0) }
    guard let known = view.definition else {
      throw DocumentError(.conflict, "the view \(definition.name) has no map")
    }
    var (entries, bytes, isWhole): ([SequenceEntry], Int, Bool) = ([], 0, true)
    try DocumentError.typed {
      let range = KeyRange(lower: .excluded(SequenceEntry.key(view.view.record.through)))
      try transaction.forEach(in: work.spaces.sequences, range) { key, value in
        guard entries.count < limit else {
          isWhole = false
          return false
        }
        entries.append(
          try key.reading { (key) throws(DocumentError) in
            try value.reading { (value) throws(DocumentError) in try SequenceEntry(key: key, value: value) }
          })
        return true
      }
    }
    for (place, entry) in entries.enumerated() {
      let revision = try DocumentError.typed {
        try transaction.withValue(entry.id, in: work.spaces.documents) { value in
          try value.reading { (bytes) throws(DocumentError) in
            IndexedRevision(try DocumentRecord.Head(bytes), in: bytes)
          }
        }
      }
      if let revision {
        let rows = try rows(of: entry.id, revision, known, work)
        bytes += rows.values.reduce(64) { $0 + $1.count }
        try replaceRows(of: entry.id, with: rows, in: view)
      } else {
        try replaceRows(of: entry.id, with: (nil, []), in: view)
      }
      view.view.record.through = entry.sequence
      if bytes >= DocumentWriter.viewStepBytes, place + 1 < entries.count {
        isWhole = false
        break
      }
    }
    changeCount += 1
    if isWhole {
      view.isKept = true
      return ViewProgress(behind: 0)
    }
    return ViewProgress(behind: max(1, work.state.lastSequence &- view.view.record.through))
  }

  /// Returns the registered version of a view, beginning it if the file does not contain it.
  private func current(
    _ definition: ViewDefinition, _ work: CollectionWork
  ) throws(DocumentError) -> ViewWork {
    let name = definition.name
    if let reason = NameRules.objection(toView: name) {
      throw DocumentError(.badArgument, "the name of the view \(reason)")
    }
    try core.checkRegistered(definition, of: work.collection)
    let known = try views(work).first { $0.view.name == name }
    if let known, known.definition != nil { return known }
    if let known, definition.makesRows(of: known.view.record) {
      // The view was registered during this batch: earlier changes of the batch have not been
      // mapped.
      let next = ViewWork(known.view, definition, isStored: true, isKept: false)
      work.views = (work.views ?? []).map { $0 === known ? next : $0 }
      return next
    }
    changeCount += 1
    work.state.indexChanges += 1
    let record = ViewRecord(
      number: work.state.indexChanges, version: definition.version, reduction: definition.reduction)
    let next = try DocumentError.typed {
      if let known {
        try remove(known.view, of: work.name)
      } else {
        work.state.views += 1
      }
      let view = try CollectionView(name, record, of: work.name, in: transaction)
      return ViewWork(view, definition, isStored: false, isKept: false)
    }
    work.views = (work.views ?? []).filter { $0.view.name != name } + [next]
    return next
  }

  /// Drops a view in O(log n). Returns false if there was none.
  func dropView(_ name: String, in collection: CollectionHandle) throws(DocumentError) -> Bool {
    let work = try work(collection)
    guard work.state.views > 0, let known = try views(work).first(where: { $0.view.name == name }) else {
      return false
    }
    noteRemoval()
    try DocumentError.typed { try remove(known.view, of: work.name) }
    work.state.views -= 1
    work.state.indexChanges += 1
    work.views = (work.views ?? []).filter { $0 !== known }
    let core = core
    atEnd { isCommitted in
      if isCommitted { core.views.forget(name, of: collection.identity) }
    }
    return true
  }

  /// Removes the rows and the record of a view.
  func remove(_ view: CollectionView, of collection: String) throws {
    try transaction.dropKeyspace(view.rows)
    try transaction.dropKeyspace(view.emitted)
    if let sums = view.sums { try transaction.dropKeyspace(sums) }
    try transaction.delete(ViewRecord.key(view.name, of: collection), in: shared.database)
  }
}

extension DocumentCore {
  /// Throws `notFound` if a view is no longer registered, `conflict` if another version is
  /// registered.
  func checkRegistered(
    _ definition: ViewDefinition, of collection: CollectionHandle
  ) throws(DocumentError) {
    guard let known = views.view(definition.name, of: collection.identity) else {
      throw DocumentError(.notFound, "the view \(definition.name) has been dropped")
    }
    guard known.version == definition.version, known.reduction == definition.reduction else {
      throw DocumentError(
        .conflict,
        "the view \(definition.name) has been registered again with the version \(known.version)")
    }
  }
}
