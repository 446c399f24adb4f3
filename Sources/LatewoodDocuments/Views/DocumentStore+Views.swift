import LatewoodStore

/// The public properties of a stored view.
package struct ViewInfo: Sendable, Equatable {
  package var name: String
  package var version: UInt64
  package var reduction: StoredReduction
  /// The number of rows.
  package var rows: Int
  /// The number of documents for which the map failed.
  package var failures: Int
  /// The number of sequences assigned since the view was last caught up.
  package var behind: UInt64
  /// The keyspace of its rows.
  package var keyspace: String
}

extension DocumentStore {
  /// Registers a view for as long as the database is open, replacing an earlier one with the same
  /// name.
  ///
  /// Once the view is caught up, every change by this process updates its rows in the same
  /// transaction. This does not write to the file.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is invalid; `conflict` if this
  ///   handle is read-only and another handle of the database has registered another version.
  package func register(
    _ view: ViewDefinition, of collection: CollectionHandle
  ) throws(DatabaseError) {
    if let reason = NameRules.objection(toView: view.name) {
      throw DatabaseError(.invalidParameter, "the name of the view \(reason)")
    }
    let core = try opened()
    if isReadOnly, core.views.view(view.name, of: collection.identity) != nil {
      // The writing handle has registered the view, and runs its own map.
      return try core.checkRegistered(view, of: collection)
    }
    core.views.register(view, of: collection.identity)
  }

  /// Catches up a registered view. Outside a batch, this takes many small transactions, so that
  /// others can write in between; a finished step survives a crash. Inside a batch, it is part of
  /// the batch. O(changes since the last time).
  ///
  /// - Parameters:
  ///   - progress: called after each step. If it throws, the error is rethrown, and another call
  ///     continues.
  ///   - check: called under the writer lock, before and after each step outside a batch. If it
  ///     throws, the step is undone and the error is rethrown.
  /// - Throws: any error of `progress` and `check`; ``DatabaseError``: any error of the store;
  ///   `notFound` if the view was dropped; `conflict` if another version was registered.
  package func catchUp(
    _ view: ViewDefinition, of collection: CollectionHandle,
    progress: (ViewProgress) throws -> Void = { _ in }, check: () throws -> Void = {}
  ) throws {
    try build(ViewBuild(view, of: collection), progress: progress, check: check)
  }

  /// Returns reads of a registered view, after catching it up. In a batch, they see its uncommitted
  /// changes.
  ///
  /// - Throws: ``DatabaseError`` like `catchUp`; `notWritable` if the view is behind and the
  ///   database was opened read-only.
  package func reads(
    _ view: ViewDefinition, of collection: CollectionHandle
  ) throws(DatabaseError) -> ViewReads {
    let core = try opened()
    if let batch = core.currentBatch {
      return try DatabaseError.typed {
        try catchUp(view, of: collection)
        return try batch.viewReads(view.name, in: collection)
      }
    }
    while true {
      try core.checkRegistered(view, of: collection)
      let reads = try reads(collection)
      let state = try reads.state()
      var behind = state.lastSequence
      if state.views > 0, let stored = try reads.storedView(view.name), view.makesRows(of: stored.record) {
        if stored.record.through == state.lastSequence { return try ViewReads(stored, reads) }
        behind = state.lastSequence &- min(state.lastSequence, stored.record.through)
      }
      guard !isReadOnly else {
        throw DatabaseError(
          .notWritable,
          "the view \(view.name) lacks up to \(behind) changes, and the database was opened read-only: "
            + "the program that writes it must catch up the view")
      }
      try DatabaseError.typed { try catchUp(view, of: collection) }
    }
  }

  /// Drops a view with its rows, and unregisters it. O(log n). Returns false if the file has no
  /// view with that name.
  @discardableResult
  package func dropView(_ name: String, of collection: CollectionHandle) throws(DatabaseError) -> Bool {
    let core = try openedForWriting()
    try core.refuseInBatch("a view is dropped")
    let isDropped = try core.batch(.usual) { batch in
      try Views(batch, of: collection).drop(name)
    }
    core.views.forget(name, of: collection.identity)
    return isDropped
  }
}

extension DocumentBatch {
  /// Returns reads of a view that has been caught up in this batch.
  fileprivate func viewReads(
    _ name: String, in collection: CollectionHandle
  ) throws -> ViewReads {
    let views = Views(self, try part(for: collection))
    guard let view = try views.loaded().first(where: { $0.view.name == name }), view.isKept else {
      throw DatabaseError(.notFound, "the view \(name) has been dropped")
    }
    try views.addUp(view)
    return try ViewReads(view.view, try reads(collection))
  }
}

extension DocumentReads {
  /// Returns the stored view with a name, without uncommitted changes; nil if it does not exist.
  func storedView(_ name: String) throws(DatabaseError) -> CollectionView? {
    try CollectionView.load(name, of: collection.name, in: spaces.database, source)
  }

  /// Returns reads of a stored view, even if it is behind; nil if it does not exist. For tools,
  /// which have no maps.
  package func stored(view name: String) throws(DatabaseError) -> ViewReads? {
    _ = try state()
    return try storedView(name).map { (view) throws(DatabaseError) in try ViewReads(view, self) }
  }

  /// Returns all views in the file, by name, whether or not they are registered.
  package func viewList() throws(DatabaseError) -> [ViewInfo] {
    let state = try state()
    guard state.views > 0 else { return [] }
    var list: [ViewInfo] = []
    for view in try CollectionView.load(of: collection.name, in: spaces.database, source) {
      let (record, last) = (view.record, state.lastSequence)
      list.append(
        ViewInfo(
          name: view.name, version: record.version, reduction: record.reduction,
          rows: try source.entryCount(in: view.rows),
          failures: Int(clamping: record.failures), behind: last - min(last, record.through),
          keyspace: record.rowsName(of: collection.name)))
    }
    return list
  }
}
