import LatewoodDocuments

/// Scopes: groups of collections, each with its own namespace.
///
/// ```swift
/// let staff = try await database.createCollection("people", scope: "hr")
/// let names = try database.collectionNames(in: "hr")   // ["people"]
/// let same = try database.collection("hr.people")      // the same collection
/// ```
///
/// A scope exists as long as it has collections. Collections that were created without a scope are
/// in the scope `_default`, which always exists. The full name of any other collection is
/// `scope.name`, and every call that takes the name of a collection accepts it.
extension Database {
  /// The names of the scopes that have collections, and `_default`, in the order of their bytes.
  /// O(collections).
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var scopeNames: [String] {
    get throws {
      let names = Set(try collectionNames.map { CollectionName.parts(of: $0).scope })
      return names.union([CollectionName.standardScope]).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
  }

  /// Returns the names of the collections in a scope, without the name of the scope, in the order
  /// of their bytes. O(collections of the scope), or of the database for `_default`.
  ///
  /// - Parameter scope: the name of the scope; if there is none of that name, the result is empty.
  /// - Throws: ``DatabaseError`` like every read.
  public func collectionNames(in scope: String) throws -> [String] {
    if scope == CollectionName.standardScope { return try collectionNames.filter { !$0.contains(".") } }
    let prefix = "\(scope)."
    return try documents.collectionNames(beginningWith: prefix).map { String($0.dropFirst(prefix.count)) }
  }

  /// Returns the collection with a given name in a scope; nil if there is none.
  ///
  /// - Parameters:
  ///   - name: the name of the collection, without the name of the scope.
  ///   - scope: the name of the scope; `_default` for collections that were created without one.
  /// - Throws: ``DatabaseError`` `invalidParameter` if a name is not valid; otherwise like every
  ///   read.
  public func collection(_ name: String, scope: String) throws -> DocumentCollection? {
    try collection(CollectionName.full(name, in: scope))
  }

  /// Returns the collection with a given name in a scope, creating both if they do not exist.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`.
  ///   - scope: the name of the scope, with the same rules; or `_default`.
  /// - Throws: ``DatabaseError`` `invalidParameter` if a name is not valid; otherwise like every
  ///   change.
  public func createCollection(_ name: String, scope: String) throws -> DocumentCollection {
    try createCollection(CollectionName.full(name, in: scope))
  }

  /// Returns the collection with a given name in a scope, creating both if they do not exist,
  /// without blocking the caller's thread.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`.
  ///   - scope: the name of the scope, with the same rules; or `_default`.
  /// - Throws: like every async change; see ``DatabaseError``.
  public func createCollection(_ name: String, scope: String) async throws -> DocumentCollection {
    try await createCollection(CollectionName.full(name, in: scope))
  }

  /// Immediately deletes a collection in a scope with all its documents. Returns false if there was
  /// none.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if a name is not valid; `busy` inside a batch;
  ///   otherwise like every change.
  @discardableResult
  public func dropCollection(_ name: String, scope: String) throws -> Bool {
    try dropCollection(CollectionName.full(name, in: scope))
  }

  /// Immediately deletes a collection in a scope with all its documents, without blocking the
  /// caller's thread. Returns false if there was none.
  ///
  /// - Throws: like every async change; see ``DatabaseError``.
  @discardableResult
  public func dropCollection(_ name: String, scope: String) async throws -> Bool {
    try await dropCollection(CollectionName.full(name, in: scope))
  }
}

extension DocumentCollection {
  /// The name of the scope of the collection: `_default` if it was created without one.
  public var scopeName: String { CollectionName.parts(of: name).scope }
}

extension CollectionName {
  static let standardScope = "_default"

  /// Returns the scope of a full name, and the name in it.
  static func parts(of name: String) -> (scope: String, name: String) {
    guard let period = name.firstIndex(of: ".") else { return (standardScope, name) }
    return (String(name[..<period]), String(name[name.index(after: period)...]))
  }

  /// Returns the full name of a collection in a scope.
  static func full(_ name: String, in scope: String) throws(DatabaseError) -> String {
    guard !name.contains(".") else {
      throw DatabaseError(
        .invalidParameter, "the collection name “\(name.prefix(80))” already names a scope",
        advice: "Leave the scope out of the name, or do not pass a scope.")
    }
    try check(name)
    if scope == standardScope { return name }
    let full = "\(scope).\(name)"
    try check(full)
    return full
  }
}
