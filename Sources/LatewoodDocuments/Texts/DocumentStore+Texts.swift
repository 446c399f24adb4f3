import LatewoodQuery
import LatewoodStore
import LatewoodText

/// A full-text index of a collection.
public struct DocumentTextIndex: Sendable, Equatable {
  /// The name.
  public let name: String
  package let definition: TextDefinition
  /// Whether the index is built, and has no ``problem``. Until then, queries read the texts of
  /// documents instead, and cannot rank them.
  public let isReady: Bool
  /// The number of documents in the index.
  public let count: Int
  /// The reason why the index cannot be used, with advice; usually nil.
  public let problem: String?

  /// The fields in their text form, such as `title` and `chapters[].title`. In queries, this is the
  /// name of the field.
  public var fields: [String] { definition.names }
  /// The weight of each field.
  public var weights: [Double] { definition.weights }
}

extension DocumentStore {
  /// Creates a full-text index of a collection, or continues one whose build was interrupted. Does
  /// nothing if the index exists with the same definition, unless its words were made by another
  /// version of Unicode: then it is built anew. If only weights differ, it gets the new ones.
  ///
  /// It is built like ``createIndex(_:_:in:progress:check:)``, and its parameters have the same
  /// meaning. O(words of all documents).
  ///
  /// - Throws: any error of `progress` and `check`; ``DatabaseError``: any error of the store,
  ///   after which the finished steps stay and another call continues; `conflict` if an index of
  ///   that name has another definition or is of another kind.
  package func createIndex(
    _ name: String, fullText definition: TextDefinition, in collection: CollectionHandle,
    progress: (IndexBuildProgress) throws -> Void = { _ in }, check: () throws -> Void = {}
  ) throws {
    try build(TextIndexBuild(name, definition, of: collection), progress: progress, check: check)
  }
}

extension DocumentReads {
  /// All full-text indexes, by name.
  package func textIndexList() throws -> [DocumentTextIndex] {
    try indexes().texts.map { index in
      DocumentTextIndex(
        name: index.name, definition: index.definition, isReady: index.isReady,
        count: try textReader(index).statistics.documentCount, problem: index.problem)
    }
  }

  /// Returns a reader of the words of an index.
  func textReader(_ index: CollectionText) throws -> TextIndexReader {
    // A batch collects its changes of words.
    if case .batch(let batch) = source { try batch.finishTexts(of: collection) }
    return try TextIndexReader(
      WordSpace(source: source, words: index.words), fieldCount: index.definition.fields.count)
  }
}

extension DocumentBatch {
  /// Makes the collected changes of words in a collection, so that they can be read.
  func finishTexts(of collection: CollectionHandle) throws {
    let part = try part(for: collection)
    if part.state.texts > 0 { try TextIndexes(self, part).finishForReading() }
  }
}
