import LatewoodDocuments

/// Information about a view stored in the file.
public struct StoredView: Sendable, Equatable {
  /// The name.
  public let name: String
  /// The version of the map that emitted the rows.
  public let version: UInt64
  /// The number of rows, including rows of expired documents that are not purged yet.
  public let count: Int
  /// The number of documents for which the map has failed.
  public let failureCount: Int
  /// The number of sequences assigned since the view was last caught up; 0 if it is up to date.
  public let behind: UInt64
}

/// Views: rows that closures emit for documents, updated by every save.
extension DocumentCollection {
  /// Opens a view and brings it up to date.
  ///
  /// ```swift
  /// let byYear = try movies.view("by year", version: 1, reduce: .stats) { movie, emit in
  ///   emit(movie["year"], movie["score"])
  /// }
  /// ```
  ///
  /// A new view is built, and one whose version differs is rebuilt. Otherwise the map runs only for
  /// documents that have changed since this process, or another that knows the view, last had the
  /// database open. The work is done in many small transactions, so that others can read and write
  /// in between; after a crash, the next call continues it. In a batch it is part of the batch.
  /// O(changes · log n).
  ///
  /// After that, as long as the database is open in this process, every change of a document
  /// updates the view in the same transaction, so the view always agrees with the documents. The
  /// map runs on the thread of the writer, with the winning revision of each document that is not
  /// deleted. If the map throws or emits an invalid key, only that document is affected: it has no
  /// rows, and `failures(limit:)` reports the reason.
  ///
  /// The file stores the name and the version of a view, but not its map. Open the view each time
  /// the program starts, and raise the version whenever a change of the map changes its rows. If
  /// the same version is opened again, the newer map replaces the older one.
  ///
  /// If the database was opened read-only, nothing is built: reading a view that the writing
  /// program has not caught up throws `notWritable`.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - version: the version of the map.
  ///   - reduction: the way in which rows are combined. A different reduction causes a rebuild,
  ///     unless both are custom ones.
  ///   - progress: called after each step outside a batch with the number of changes that the view
  ///     still lacks. If it throws, the finished steps are kept, and another call continues.
  ///   - map: emits the rows of a document. It must depend only on the content, id and revision of
  ///     the document. It must not change the database, read a view, or keep its arguments.
  /// - Throws: any error of `progress`; ``DatabaseError`` `invalidParameter` if the name is not
  ///   valid; `notWritable` if the disk is full; otherwise like every change.
  public func view(
    _ name: String, version: UInt64, reduce reduction: ViewReduction = .none,
    progress: (_ behind: UInt64) throws -> Void = { _ in },
    map: @escaping @Sendable (_ document: Document, _ emit: ViewEmitter) throws -> Void
  ) throws -> DocumentView {
    let view = DocumentView(self, Self.definition(name, version, reduction, map), reduction)
    try register(view, check: {}, progress)
    return view
  }

  /// Opens a view and brings it up to date, without blocking the caller's thread. Otherwise like
  /// `view(_:version:reduce:progress:map:)`.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - version: the version of the map.
  ///   - reduction: the way in which rows are combined.
  ///   - progress: called after each step, on a Dispatch queue, with the number of changes that the
  ///     view still lacks.
  ///   - map: emits the rows of a document.
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the view is caught up. The finished steps are kept.
  public func view(
    _ name: String, version: UInt64, reduce reduction: ViewReduction = .none,
    progress: @escaping @Sendable (_ behind: UInt64) throws -> Void = { _ in },
    map: @escaping @Sendable (_ document: Document, _ emit: ViewEmitter) throws -> Void
  ) async throws -> DocumentView {
    let view = DocumentView(self, Self.definition(name, version, reduction, map), reduction)
    try await database.cancellable { database, check in
      try await database.documents.perform { [self] in
        try check()
        try register(view, check: check, progress)
      }
    }
    return view
  }

  private static func definition(
    _ name: String, _ version: UInt64, _ reduction: ViewReduction,
    _ map: @escaping @Sendable (Document, ViewEmitter) throws -> Void
  ) -> ViewDefinition {
    ViewDefinition(name, version: version, reduction: reduction.stored) { found, rows in
      try map(Document(found.id, found.head, found.bytes), ViewEmitter(rows))
    }
  }

  private func register(
    _ view: DocumentView, check: () throws -> Void, _ progress: (UInt64) throws -> Void
  ) throws {
    do {
      try documents.register(view.definition, of: handle)
      guard !documents.isReadOnly else { return }
      try documents.catchUp(
        view.definition, of: handle, progress: { try progress($0.behind) }, check: check)
    } catch { throw DatabaseError.translated(error) }
  }

  /// Drops a view with its rows. O(log n).
  ///
  /// - Returns: false if the file has no view with that name.
  /// - Throws: ``DatabaseError`` `busy` inside a batch; otherwise like every change.
  @discardableResult
  public func dropView(_ name: String) throws -> Bool {
    try documents.dropView(name, of: handle)
  }

  /// Drops a view with its rows, without blocking the caller's thread. Otherwise like the blocking
  /// form.
  ///
  /// - Returns: false if the file has no view with that name.
  /// - Throws: like every async call; see ``DatabaseError``.
  @discardableResult
  public func dropView(_ name: String) async throws -> Bool {
    try await database.performing { [self] in
      try documents.dropView(name, of: handle)
    }
  }

  /// The views stored in the file, by name, whether or not this process has opened them.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var storedViews: [StoredView] {
    get throws {
      try reads().viewList().map { view in
        StoredView(
          name: view.name, version: view.version, count: view.rows, failureCount: view.failures,
          behind: view.behind)
      }
    }
  }
}
