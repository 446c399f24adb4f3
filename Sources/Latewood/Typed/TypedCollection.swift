import LatewoodDocuments

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A collection whose documents are values of one `Codable` type.
///
/// ```swift
/// struct Person: Codable, Identifiable, Sendable {
///   var id: String
///   var name: String
///   var city: String
/// }
/// let people = try database.collection("people", of: Person.self)
/// try await people.save(Person(id: "anna", name: "Anna", city: "Porto"))
/// if var anna = try await people.document("anna") {
///   anna.city = "Lisboa"
///   try await people.save(anna)                           // a conflict if it is stale
/// }
/// try await people.update("anna") { $0.city = "Lisboa" }  // never one
/// let there = try await people.query().where { $0.city == "Lisboa" }.all()
/// ```
///
/// The `id` of a value is the id of its document: the text of a `String` or any other
/// `LosslessStringConvertible` type, the `uuidString` of a `UUID`, or the raw value of a type whose
/// raw value is a `String`. The rules of document ids apply to it: 1 to 8,000 bytes, no underscore
/// at the start, no control characters.
///
/// A save writes the whole value: members of the document that the type does not have are lost,
/// except attachments from CouchDB, which a save of a ``Stored`` value keeps. Use ``documents``,
/// the same collection without the type, for everything else: conflicts, local documents, and
/// revisions of other replicas.
///
/// Errors of all calls: ``DatabaseError``, the `EncodingError` of a value that cannot be stored,
/// and the `DecodingError` of a document that is not of the type.
///
/// Thread safety: all calls from any thread.
public struct TypedCollection<Value: Codable & Identifiable & Sendable>: Sendable where Value.ID: Sendable {
  /// The collection without the type.
  public let documents: DocumentCollection
  private let text: @Sendable (Value.ID) -> String

  private init(_ documents: DocumentCollection, text: @escaping @Sendable (Value.ID) -> String) {
    self.documents = documents
    self.text = text
  }

  /// Creates a typed view of a collection.
  public init(_ documents: DocumentCollection) where Value.ID: LosslessStringConvertible {
    self.init(documents) { $0.description }
  }

  /// Creates a typed view of a collection.
  public init(_ documents: DocumentCollection) where Value.ID == UUID {
    self.init(documents) { $0.uuidString }
  }

  /// Creates a typed view of a collection.
  @_disfavoredOverload
  public init(_ documents: DocumentCollection) where Value.ID: RawRepresentable<String> {
    self.init(documents) { $0.rawValue }
  }

  /// The name of the collection.
  public var name: String { documents.name }
  /// The database that the collection belongs to.
  public var database: Database { documents.database }

  /// Returns the id of the document of a value.
  public func documentID(_ id: Value.ID) -> String { text(id) }

  func stored(_ document: Document) throws -> Stored<Value> {
    Stored(try document.decode(as: Value.self, in: name), document, try document.parsedRevision)
  }

  // MARK: Reading

  /// Returns the current state of a document with its revision; nil if there is none. O(log n).
  ///
  /// - Throws: ``DatabaseError`` like every read; the `DecodingError` of a document that is not of
  ///   the type.
  public func document(_ id: Value.ID) throws -> Stored<Value>? {
    try documents.document(text(id)).map { try stored($0) }
  }

  /// The current value of an id; nil if there is none, or it cannot be read.
  public subscript(id: Value.ID) -> Value? {
    do { return try document(id)?.value } catch { return nil }
  }

  /// Returns whether a document with an id exists. O(log n); does not read content.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public func contains(_ id: Value.ID) throws -> Bool { try documents.contains(text(id)) }

  /// The number of documents. O(log n).
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var count: Int { get throws { try documents.count } }

  /// Returns the documents that match a query, by id; default: all.
  ///
  /// - Throws: ``DatabaseError`` like every read; the `DecodingError` of a document that is not of
  ///   the type.
  public func all(_ query: AllDocumentsQuery = AllDocumentsQuery()) throws -> [Stored<Value>] {
    var list: [Stored<Value>] = []
    try forEach(query) { document in
      list.append(document)
      return true
    }
    return list
  }

  /// Calls a closure with the documents that match a query, by id, all from one state of the
  /// database, until it returns false. Keeps one in memory at a time. Deleted documents are left
  /// out, regardless of the query.
  ///
  /// - Throws: errors of the closure; ``DatabaseError`` like every read; the `DecodingError` of a
  ///   document that is not of the type.
  public func forEach(
    _ query: AllDocumentsQuery = AllDocumentsQuery(), _ body: (Stored<Value>) throws -> Bool
  ) throws {
    try documents.forEachDocument(query) { try $0.isDeleted || body(stored($0)) }
  }

  /// Returns a query of the collection: see ``Query``. Its results include their revisions.
  public func query() -> Query<Stored<Value>> {
    Query(documents) { [name] found in
      let document = Document(found.id, found.head, found.bytes)
      return Stored(try document.decode(as: Value.self, in: name), document, found.head.winner)
    }
  }

  /// Creates an index of stored members of the type: see
  /// ``DocumentCollection/createIndex(_:of:where:unique:on:)-6d8cp``.
  ///
  /// ```swift
  /// try people.createIndex("by city") { ($0.city, $0.name) }
  /// ```
  ///
  /// - Throws: the same as ``DocumentCollection/createIndex(_:of:where:unique:on:)-6d8cp``.
  public func createIndex<each Field: IndexFieldSource>(
    _ name: String, where condition: ((QueryDocument<Value>) -> QueryCondition)? = nil, unique: Bool = false,
    on fields: (QueryDocument<Value>) -> (repeat each Field)
  ) throws {
    try documents.createIndex(name, of: Value.self, where: condition, unique: unique, on: fields)
  }

  /// Creates a full-text index of stored members of the type. See <doc:SearchingText>.
  ///
  /// ```swift
  /// try people.createIndex("by text", fullText: { ($0.name.weight(3), $0.city) })
  /// ```
  ///
  /// - Throws: the same as the form of ``DocumentCollection``.
  // A closure without a label makes an index of values.
  @_disfavoredOverload
  public func createIndex<each Field: FullTextFieldSource>(
    _ name: String, options: FullTextOptions = FullTextOptions(),
    fullText fields: (QueryDocument<Value>) -> (repeat each Field)
  ) throws {
    try documents.createIndex(name, of: Value.self, options: options, fullText: fields)
  }

  // MARK: Writing

  /// Saves a new value. If a document with its id exists, that is a conflict.
  ///
  /// - Parameters:
  ///   - value: the value. A member with the coding key `_rev` contains the id of the revision that
  ///     it edits.
  ///   - control: the rule if there is a document; `.lastWriteWins` replaces it.
  /// - Returns: the value with its revision. Change a copy of it to save again.
  /// - Throws: ``DatabaseError`` `conflict`; `badDocumentID` if the id of the value is not valid.
  @discardableResult
  public func save(
    _ value: Value, _ control: ConcurrencyControl = .failOnConflict
  ) throws -> Stored<Value> {
    try saved(value, documents.save(prepare(value, control)))
  }

  /// Saves a changed copy of a value that was read or saved before. If someone else has saved or
  /// deleted the document since, that is a conflict.
  ///
  /// - Parameters:
  ///   - document: the changed value.
  ///   - control: the rule if someone else has saved it since.
  /// - Throws: ``DatabaseError`` `conflict`; `invalidParameter` if the id of the value was changed.
  @discardableResult
  public func save(
    _ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) throws -> Stored<Value> {
    try saved(document.value, documents.save(prepare(document, control)))
  }

  /// Saves new values in one batch: all or none, and far faster than one by one.
  ///
  /// - Throws: ``DatabaseError`` `conflict` if a document with one of the ids exists, or two values
  ///   have the same id; then nothing is saved. With `.lastWriteWins` the last value with an id is
  ///   kept.
  @discardableResult
  public func save(
    contentsOf values: some Sequence<Value>, _ control: ConcurrencyControl = .failOnConflict
  ) throws -> [Stored<Value>] {
    let edits = try values.map { ($0, try prepare($0, control)) }
    return try database.inBatch { try edits.map { try saved($0.0, documents.save($0.1)) } }
  }

  /// Reads, changes and saves a value. Repeats that if someone else has saved in between, so that
  /// no change is lost.
  ///
  /// - Parameters:
  ///   - id: the id.
  ///   - change: changes the value. It may be called more than once. It must not save.
  /// - Returns: the saved value; nil if no document with the id exists. If nothing was changed,
  ///   nothing is saved, and the old value is returned.
  /// - Throws: any error of the change; ``DatabaseError`` `invalidParameter` if the change has
  ///   changed the id; the `EncodingError` of a value that cannot be stored, and the
  ///   `DecodingError` of a document that is not of the type; the errors of saving, except
  ///   `conflict`.
  @discardableResult
  public func update(_ id: Value.ID, _ change: (inout Value) throws -> Void) throws -> Stored<Value>? {
    while true {
      guard let change = try prepare(id, change) else { return nil }
      guard let edit = change.edit else { return change.document }
      do {
        return try saved(change.document.value, documents.save(edit))
      } catch let error as DatabaseError where error.code == .conflict {}
    }
  }

  /// Deletes a document by adding a revision, so that other replicas receive the deletion.
  ///
  /// - Parameters:
  ///   - document: the document as it was read or saved. If someone has saved it since, that is a
  ///     conflict.
  ///   - control: the rule if someone has saved it since.
  /// - Throws: ``DatabaseError`` `conflict`; `notFound` if it is already deleted, by anyone.
  public func delete(_ document: Stored<Value>, _ control: ConcurrencyControl = .failOnConflict) throws {
    try documents.save(prepareDeletion(document, control))
  }

  /// Deletes a document, regardless of its current revision. Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` `badDocumentID` if the id is not valid; otherwise like every
  ///   change.
  @discardableResult
  public func delete(_ id: Value.ID) throws -> Bool { try documents.delete(text(id)) }

  /// Removes a document and all its revisions without a trace. Other replicas are not notified.
  /// Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` like every change.
  @discardableResult
  public func purge(_ id: Value.ID) throws -> Bool { try documents.purge(text(id)) }
}

// MARK: Preparing

extension TypedCollection {
  func saved(_ value: Value, _ document: Document) throws -> Stored<Value> {
    Stored(value, document, try document.parsedRevision)
  }

  func prepare(_ value: Value, _ control: ConcurrencyControl) throws -> PreparedEdit {
    try documents.prepare(MutableDocument(id: text(value.id), encoding: value), control)
  }

  func prepare(_ document: Stored<Value>, _ control: ConcurrencyControl) throws -> PreparedEdit {
    let id = text(document.value.id)
    guard KeyText(id) == KeyText(document.documentID) else {
      throw DatabaseError(
        .invalidParameter, "the id of the value was changed from “\(document.documentID)” to “\(id)”",
        advice: "Save the value itself as a new document, and delete the old one.")
    }
    let content = try DocumentCoding.encode(document.value).content.keepingAttachments(document.attachments)
    return try documents.prepare(
      MutableDocument(checkedID: id, revision: document.revision, content: content), control)
  }

  /// Reads and changes a value; returns nil if there is no document with the id.
  func prepare(
    _ id: Value.ID, _ change: (inout Value) throws -> Void
  ) throws -> PreparedChange<Value>? {
    try documents.document(text(id)).map { try PreparedChange($0, self, change) }
  }

  func prepareDeletion(_ document: Stored<Value>, _ control: ConcurrencyControl) throws -> PreparedEdit {
    let empty = MutableDocument(checkedID: document.documentID, content: [:])
    return try PreparedEdit(
      empty, deleting: document.revision, control, isStrict: database.configuration.isStrict)
  }
}

/// A changed value, ready to be saved.
struct PreparedChange<Value: Codable & Identifiable & Sendable>: Sendable where Value.ID: Sendable {
  let document: Stored<Value>
  /// The edit to save; nil if nothing was changed.
  let edit: PreparedEdit?

  init(
    _ current: Document, _ collection: TypedCollection<Value>, _ change: (inout Value) throws -> Void
  ) throws {
    var document = try collection.stored(current)
    try change(&document.value)
    let edit = try collection.prepare(document, .failOnConflict)
    self.document = document
    self.edit = edit.body == current.stored.bytes ? nil : edit
  }
}

extension Database {
  /// Returns the collection with a given name as a collection of values of a type, creating it if
  /// there is none.
  ///
  /// - Parameters:
  ///   - name: 1 to 251 of `A-Z a-z 0-9 _ - %`, not starting with `_` or `%`; preceded by the name
  ///     of a scope and a period, if the collection is in one. `_default` is the name of
  ///     ``defaultCollection``.
  ///   - type: the type of the values. See ``TypedCollection`` for the way in which their ids are
  ///     stored.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `notWritable` if the
  ///   collection does not exist and the database was opened read-only.
  public func collection<Value>(
    _ name: String, of type: Value.Type
  ) throws -> TypedCollection<Value> where Value.ID: LosslessStringConvertible {
    TypedCollection(try self[name])
  }

  /// Returns the collection with a given name as a collection of values of a type whose ids are
  /// `UUID`s, creating it if there is none. Otherwise like the form for other ids.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `notWritable` if the
  ///   collection does not exist and the database was opened read-only; `notOpen`, `inputOutput`,
  ///   `corruptData`.
  public func collection<Value>(
    _ name: String, of type: Value.Type
  ) throws -> TypedCollection<Value> where Value.ID == UUID {
    TypedCollection(try self[name])
  }

  /// Returns the collection with a given name as a collection of values of a type whose ids have a
  /// `String` as raw value, creating it if there is none. Otherwise like the form for other ids.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `notWritable` if the
  ///   collection does not exist and the database was opened read-only; `notOpen`, `inputOutput`,
  ///   `corruptData`.
  @_disfavoredOverload
  public func collection<Value>(
    _ name: String, of type: Value.Type
  ) throws -> TypedCollection<Value> where Value.ID: RawRepresentable<String> {
    TypedCollection(try self[name])
  }

  /// Returns the collection with a name, creating it if there is none.
  ///
  /// ```swift
  /// let people = try database["people"]
  /// ```
  ///
  /// Use ``collection(_:)`` for a collection that should not be created.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `notWritable` if the
  ///   collection does not exist and the database was opened read-only; `notOpen`, `inputOutput`,
  ///   `corruptData`.
  public subscript(name: String) -> DocumentCollection {
    get throws { try collection(name) ?? createCollection(name) }
  }
}
