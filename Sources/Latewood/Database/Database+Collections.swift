import LatewoodDocuments

extension Database {
  /// The default collection, `_default`, with which every database is created.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the collection has been dropped; otherwise like
  ///   every read.
  public var defaultCollection: DocumentCollection {
    get throws {
      guard let collection = try collection(CollectionName.standard) else {
        throw DatabaseError(.notFound, "the default collection has been dropped")
      }
      return collection
    }
  }

  /// Returns the collection with a given name; nil if there is none.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; otherwise like every
  ///   read.
  public func collection(_ name: String) throws -> DocumentCollection? {
    try CollectionName.check(name)
    let handle = try documents.collection(name)
    return handle.map { DocumentCollection($0, of: self) }
  }

  /// Returns the collection with a given name, creating it if there is none. In a batch, the
  /// creation is part of the batch.
  ///
  /// - Parameter name: 1 to 251 of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`; preceded by
  ///   the name of a scope and a period, if the collection is in one.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; otherwise like every
  ///   change.
  public func createCollection(_ name: String) throws -> DocumentCollection {
    try CollectionName.check(name)
    let handle = try documents.createCollection(name)
    return DocumentCollection(handle, of: self)
  }

  /// The names of all collections, in the order of their bytes.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var collectionNames: [String] {
    get throws {
      try documents.collectionNames()
    }
  }

  /// Immediately deletes a collection with all its documents. Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `busy` inside a
  ///   batch; otherwise like every change.
  @discardableResult
  public func dropCollection(_ name: String) throws -> Bool {
    try CollectionName.check(name)
    return try documents.dropCollection(name)
  }
}
