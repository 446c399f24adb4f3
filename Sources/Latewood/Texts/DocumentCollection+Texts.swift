import LatewoodDocuments
import LatewoodQuery
import LatewoodText

/// Full-text indexes: the words of documents, updated by every save.
extension DocumentCollection {
  /// Creates a full-text index, which finds documents by their words.
  ///
  /// ```swift
  /// try films.createIndex("by text", fullText: [.weighted("title", 3), "plot"])
  /// let found = try films.query().where { $0.matches("by text", "blue sky") }.ranked().all()
  /// ```
  ///
  /// Like other indexes, it changes in the same transaction as the documents. The call does nothing
  /// if the index already exists with the same definition, and only changes the weights if nothing
  /// else is different. On a collection with documents it is built in many small transactions; if a
  /// crash or a full disk interrupts the build, another call continues it. An index that was built
  /// with another version of the Unicode tables is built anew by this call. In a batch the build is
  /// part of the batch. See <doc:SearchingText>.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - fields: 1 to 64 fields.
  ///   - options: the language, and the differences between letters that a search ignores.
  ///   - progress: called after each step outside a batch. If it throws, the index is dropped,
  ///     unless it was complete before the call, or another caller has completed it.
  /// - Throws: any error of `progress`; ``DatabaseError`` `invalidParameter` if the definition is
  ///   not valid, `conflict` if another index has the name; `notWritable`, `notOpen`.
  public func createIndex(
    _ name: String, fullText fields: [FullTextField], options: FullTextOptions = FullTextOptions(),
    progress: (IndexBuildProgress) throws -> Void = { _ in }
  ) throws {
    try build(name, Self.definition(fields, options), check: {}, progress)
  }

  /// Creates a full-text index of the stored members of a type. Otherwise like the form for paths.
  ///
  /// ```swift
  /// try films.createIndex(
  ///   "by text", of: Film.self, fullText: { ($0.title.weight(3), $0.plot, $0.tags.each) })
  /// ```
  ///
  /// - Throws: the same errors; `invalidParameter` also if the coding key of a member cannot be
  ///   determined: see ``QueryField``.
  // A closure without a label makes an index of values.
  @_disfavoredOverload
  public func createIndex<Value, each Field: FullTextFieldSource>(
    _ name: String, of type: Value.Type, options: FullTextOptions = FullTextOptions(),
    fullText fields: (QueryDocument<Value>) -> (repeat each Field)
  ) throws {
    try build(name, Self.definition(Self.list(fields), options), check: {}, { _ in })
  }

  /// Creates a full-text index without blocking the caller's thread. If the task is cancelled
  /// before the index is built, the index is dropped and this throws `CancellationError`.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 bytes of UTF-8 without control characters.
  ///   - fields: 1 to 64 fields.
  ///   - options: the language, and the differences between letters that a search ignores.
  ///   - progress: called after each step, on a Dispatch queue. If it throws, the index is dropped,
  ///     unless it was complete before the call, or another caller has completed it.
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the index is built.
  nonisolated(nonsending) public func createIndex(
    _ name: String, fullText fields: [FullTextField], options: FullTextOptions = FullTextOptions(),
    progress: @escaping @Sendable (IndexBuildProgress) throws -> Void = { _ in }
  ) async throws {
    try await buildUnlessCancelled(name, Self.definition(fields, options), progress)
  }

  /// Creates a full-text index of the stored members of a type without blocking the caller's
  /// thread. If the task is cancelled before the index is built, the index is dropped and this
  /// throws `CancellationError`.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the index is built.
  // A closure without a label makes an index of values.
  @_disfavoredOverload
  nonisolated(nonsending) public func createIndex<Value, each Field: FullTextFieldSource>(
    _ name: String, of type: Value.Type, options: FullTextOptions = FullTextOptions(),
    fullText fields: (QueryDocument<Value>) -> (repeat each Field)
  ) async throws {
    try await buildUnlessCancelled(name, Self.definition(Self.list(fields), options)) { _ in }
  }

  private func buildUnlessCancelled(
    _ name: String, _ definition: TextDefinition,
    _ progress: @escaping @Sendable (IndexBuildProgress) throws -> Void
  ) async throws {
    try await performUnlessCancelled { [self] check in
      try build(name, definition, check: check, progress)
    }
  }

  /// - Parameter check: called before and after each step. If it throws, the step is not taken, and
  ///   the index is dropped.
  private func build(
    _ name: String, _ definition: TextDefinition, check: () throws -> Void,
    _ progress: (IndexBuildProgress) throws -> Void
  ) throws {
    try documents.createIndex(name, fullText: definition, in: handle, progress: progress, check: check)
  }

  private static func list<Value, each Field: FullTextFieldSource>(
    _ fields: (QueryDocument<Value>) -> (repeat each Field)
  ) -> [FullTextField] {
    var list: [FullTextField] = []
    for field in repeat each fields(QueryDocument()) { list.append(field.fullTextField) }
    return list
  }

  private static func definition(
    _ fields: [FullTextField], _ options: FullTextOptions
  ) throws -> TextDefinition {
    let fields = try fields.map { try $0.field.get() }
    do throws(QueryError) { return try TextDefinition(fields, options.textOptions) } catch {
      throw DatabaseError(.invalidParameter, error.description)
    }
  }

  /// The full-text indexes, by name. `dropIndex` drops one.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var fullTextIndexes: [DocumentTextIndex] {
    get throws {
      do { return try reads().textIndexList() } catch { throw DatabaseError.translated(error) }
    }
  }
}

/// A word of a full-text index.
public struct FullTextWord: Sendable, Hashable {
  /// The term in the index: folded and, if the index has a language, reduced to its stem.
  public let word: String
  /// The number of documents with the word.
  public let documentCount: Int

  init(_ term: TextTerm) {
    word = String(decoding: term.term, as: UTF8.self)
    documentCount = term.documentCount
  }
}

/// Words to suggest while somebody types, and afterwards.
extension DocumentCollection {
  /// Returns words of a full-text index that begin with a text, the most frequent first. O(words
  /// with that beginning).
  ///
  /// The words are stems if the index has a language; for words to show, use an index without one.
  ///
  /// - Parameters:
  ///   - prefix: the beginning of a word.
  ///   - index: the name of the index.
  ///   - limit: the maximum number of words.
  /// - Throws: ``DatabaseError`` `notFound` if there is no such index; `invalidParameter` if it is
  ///   not built; otherwise like every read.
  public func completions(of prefix: String, in index: String, limit: Int = 10) throws -> [FullTextWord] {
    do {
      return try reads().completions(of: prefix, in: index, limit: limit).map { FullTextWord($0) }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Returns words of a full-text index that are spelled like a word: the most similar first, then
  /// the most frequent. The word itself is not among them.
  ///
  /// - Parameters:
  ///   - word: the word.
  ///   - index: the name of the index.
  ///   - distance: the maximum number of letters that are inserted, left out, replaced or exchanged
  ///     with their neighbour; 1 or 2.
  ///   - limit: the maximum number of words.
  /// - Throws: ``DatabaseError`` `notFound` if there is no such index; `invalidParameter` if it is
  ///   not built; otherwise like every read.
  public func suggestions(
    for word: String, in index: String, distance: Int = 2, limit: Int = 5
  ) throws -> [FullTextWord] {
    do {
      return try reads().suggestions(
        for: word, in: index, distance: Swift.max(0, Swift.min(distance, 2)), limit: limit
      ).map { FullTextWord($0.term) }
    } catch { throw DatabaseError.translated(error) }
  }

  /// Returns words of a full-text index that begin with a text, without blocking the caller's
  /// thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func completions(
    of prefix: String, in index: String, limit: Int = 10
  ) async throws -> [FullTextWord] {
    try await database.performing { try self.completions(of: prefix, in: index, limit: limit) }
  }

  /// Returns words of a full-text index that are spelled like a word, without blocking the caller's
  /// thread. Otherwise like the blocking form.
  ///
  /// - Throws: like every async read; see ``DatabaseError``.
  public func suggestions(
    for word: String, in index: String, distance: Int = 2, limit: Int = 5
  ) async throws -> [FullTextWord] {
    try await database.performing {
      try self.suggestions(for: word, in: index, distance: distance, limit: limit)
    }
  }
}
