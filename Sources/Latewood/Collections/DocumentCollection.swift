import LatewoodDocuments
import LatewoodFleece

/// Who wins when a document is saved that somebody else has saved since it was read.
public enum ConcurrencyControl: Sendable, Equatable {
  /// Nobody: saving throws `conflict`.
  case failOnConflict
  /// What is saved last.
  case lastWriteWins
}

/// The documents of one name in a database.
///
/// When it has been dropped every call throws `notFound`, also if there is another of the same name
/// by then; and so if it was made in a batch that failed.
///
/// Thread safety: all calls from any thread.
public final class DocumentCollection: Sendable {
  public let database: Database
  let spaces: LatewoodDocuments.DocumentCollection
  public var name: String { spaces.name }
  /// 32 hexadecimal digits that no other collection has, nor a later one of the same name: for what
  /// is kept about a collection elsewhere, such as how far a replica has read its feed. A copy of
  /// the database has the same; its own ``Database/identity`` differs.
  public var identity: String {
    spaces.identity.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  init(_ spaces: LatewoodDocuments.DocumentCollection, of database: Database) {
    self.spaces = spaces
    self.database = database
  }

  var documents: DocumentStore { database.documents }

  func reads() throws(DatabaseError) -> DocumentReads {
    try translating { () throws(DocumentError) in try documents.reads(spaces) }
  }

  // MARK: Reading

  /// The current revision of a document; nil if there is none or it is deleted. O(log n).
  public func document(_ id: String) throws(DatabaseError) -> Document? {
    let reads = try reads()
    return try translating { () throws(DocumentError) in
      guard let (head, body) = try reads.document(id) else { return nil }
      return Document(id, head, body)
    }
  }

  /// The current revision of a document; nil if there is none, it is deleted or cannot be read.
  public subscript(id: String) -> Document? {
    do { return try document(id) } catch { return nil }
  }

  /// Whether there is a document that is not deleted. O(log n), reads no content.
  public func contains(_ id: String) throws(DatabaseError) -> Bool {
    let reads = try reads()
    return try translating { () throws(DocumentError) in try reads.head(of: id)?.isDeleted == false }
  }

  /// How many documents there are, without deleted ones. O(log n).
  public var count: Int {
    get throws(DatabaseError) {
      let reads = try reads()
      return try translating { () throws(DocumentError) in try reads.totals().documents }
    }
  }

  // MARK: Writing

  /// Runs a change, alone or as part of the batch that this thread is in.
  func write<R>(_ body: (DocumentWriter) throws(DocumentError) -> R) throws(DatabaseError) -> R {
    do {
      return try documents.write { writer in try body(writer) }
    } catch let error as DocumentError {
      throw DatabaseError(error)
    } catch let error as DatabaseError {
      // Of an outer batch.
      throw error
    } catch {
      throw DatabaseError(.inputOutput, "\(error)")
    }
  }

  /// Saves a document: makes a new revision of it.
  ///
  /// A copy of a revision that is no longer current, and a new document whose id is taken, are
  /// conflicts, also if the content is equal to what is there. A new document over a deleted one
  /// goes on from there. A blob in it may be one whose content is not here: see
  /// ``Database/content(of:)``.
  ///
  /// - Returns: the document as it was saved. Change a copy of that to save again.
  /// - Throws: ``DatabaseError`` `conflict`; `corruptRevisionData` if a member has a reserved name;
  ///   `invalidParameter` if a value cannot be stored; `notWritable`, `notOpen`, `inputOutput`.
  @discardableResult
  public func save(
    _ document: MutableDocument, _ control: ConcurrencyControl = .failOnConflict
  ) throws(DatabaseError) -> Document {
    try save(prepare(document, control))
  }

  /// Saves a document, and asks a handler when somebody else has saved it since.
  ///
  /// - Parameters:
  ///   - document: what was changed.
  ///   - handler: gets what was to be saved, to be changed, and the current revision, nil if it has
  ///     been deleted. It returns whether to save: then what it left replaces the current revision;
  ///     else nothing is saved. It may be asked again, when somebody was faster again. Do not save
  ///     in it.
  /// - Returns: nil if the handler said no.
  @discardableResult
  public func save(
    _ document: MutableDocument, conflictHandler handler: (inout MutableDocument, Document?) throws -> Bool
  ) throws -> Document? {
    var document = document
    while true {
      do throws(DatabaseError) {
        return try save(document, .failOnConflict)
      } catch {
        guard error.code == .conflict else { throw error }
      }
      let current = try self.document(document.id)
      guard try handler(&document, current) else { return nil }
      document = document.rebased(on: current)
    }
  }

  /// Reads a document, has it changed and saves it, as often as it takes until nobody was faster.
  /// No change is lost between.
  ///
  /// ```swift
  /// try counters.update("visits") { $0["count"].int = $0.int("count") + 1; return true }
  /// ```
  ///
  /// - Parameters:
  ///   - id: of a document; if there is none, the change begins with an empty one.
  ///   - change: changes it, and returns whether to save it. It may be called more than once. Do
  ///     not save in it.
  /// - Returns: what was saved; nil if the change said no.
  @discardableResult
  public func update(
    _ id: String, _ change: (inout MutableDocument) throws -> Bool
  ) throws -> Document? {
    while true {
      var document = try self.document(id)?.toMutable() ?? MutableDocument(id: id)
      guard try change(&document) else { return nil }
      do throws(DatabaseError) {
        return try save(document, .failOnConflict)
      } catch {
        guard error.code == .conflict else { throw error }
      }
    }
  }

  /// Saves what an `Encodable` encodes under an id, in the place of what there is.
  @discardableResult
  public func save(_ value: some Encodable, as id: String) throws -> Document {
    try save(MutableDocument(id: id, encoding: value), .lastWriteWins)
  }

  /// A document as any `Decodable`; nil if there is none.
  public func decode<T: Decodable>(_ type: T.Type, from id: String) throws -> T? {
    try document(id)?.decode(as: type)
  }

  /// Deletes a document: its newest revision then says so, and other replicas will learn of it.
  ///
  /// - Parameters:
  ///   - document: as it was read. If somebody has saved it since, that is a conflict.
  ///   - members: what the deleted document has from now on. Blobs in them stay.
  ///   - control: who wins if somebody has saved it since.
  /// - Throws: ``DatabaseError`` `conflict`; `notFound` if it is deleted already, whoever did it.
  public func delete(
    _ document: Document, keeping members: [String: DocumentValue] = [:],
    _ control: ConcurrencyControl = .failOnConflict
  ) throws(DatabaseError) {
    try save(prepareDeletion(of: document, keeping: members, control))
  }

  /// Deletes a document, whatever its current revision is. False if there is none.
  @discardableResult
  public func delete(_ id: String) throws(DatabaseError) -> Bool {
    let body = try MutableDocument(id: id).encodedBody()
    return try write { (writer) throws(DocumentError) in
      guard let head = try writer.reads(spaces).head(of: id), !head.isDeleted else { return false }
      _ = try writer.save(
        id, in: spaces, body: body, parent: head.winner, isDeleted: true, policy: .lastWriteWins)
      return true
    }
  }

  /// Forgets a document and every trace of it, as if it had never been. Other replicas are not
  /// told. False if there is none.
  @discardableResult
  public func purge(_ id: String) throws(DatabaseError) -> Bool {
    try write { (writer) throws(DocumentError) in try writer.purge(id, in: spaces) }
  }
}

extension ConcurrencyControl {
  var policy: SavePolicy { self == .lastWriteWins ? .lastWriteWins : .refuseConflicts }
}

extension RevisionID {
  init(checking text: String) throws(DatabaseError) {
    do { self = try RevisionID(text) } catch { throw DatabaseError(error) }
  }
}

extension Document {
  init(_ id: String, _ head: DocumentRecord.Head, _ body: [UInt8]) {
    var flags: DocumentFlags = []
    if head.isDeleted { flags.insert(.deleted) }
    if head.hasConflicts { flags.insert(.conflicted) }
    self.init(
      id: id, revision: head.winner, sequence: head.sequence, flags: flags, body: body)
  }

  init(_ id: String, _ saved: SavedRevision, _ body: [UInt8]) {
    self.init(
      id: id, revision: saved.revision, sequence: saved.sequence,
      flags: saved.hasConflicts ? .conflicted : [], body: body)
  }

  var parsedRevision: RevisionID {
    get throws(DatabaseError) {
      if let revision { return revision }
      throw DatabaseError(.badRevisionID, "\(id) is no document that has revisions")
    }
  }
}
