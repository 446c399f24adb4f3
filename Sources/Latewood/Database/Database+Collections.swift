import LatewoodDocuments

extension Database {
  /// The default collection, `_default`, with which every database is created.
  public var defaultCollection: DocumentCollection {
    get throws {
      guard let collection = try collection(CollectionName.standard) else {
        throw DatabaseError(.notFound, "the default collection has been dropped")
      }
      return collection
    }
  }

  /// Returns the collection of a name; nil if there is none.
  public func collection(_ name: String) throws -> DocumentCollection? {
    try CollectionName.check(name)
    let spaces = try translating { () throws(DocumentError) in try documents.collection(name) }
    return spaces.map { DocumentCollection($0, of: self) }
  }

  /// Returns the collection of a name, creating it if there is none. In a batch, it is part of the
  /// batch.
  ///
  /// - Parameter name: 1 to 251 of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`. Throws
  ///   `invalidParameter` otherwise.
  public func createCollection(_ name: String) throws -> DocumentCollection {
    try CollectionName.check(name)
    let spaces = try translating { () throws(DocumentError) in try documents.createCollection(name) }
    return DocumentCollection(spaces, of: self)
  }

  /// The names of all collections, in the order of their bytes.
  public var collectionNames: [String] {
    get throws {
      try translating { () throws(DocumentError) in try documents.collectionNames() }
    }
  }

  /// Deletes a collection with all its documents, at once. Returns false if there was none.
  @discardableResult
  public func dropCollection(_ name: String) throws -> Bool {
    try CollectionName.check(name)
    return try translating { () throws(DocumentError) in try documents.dropCollection(name) }
  }
}
