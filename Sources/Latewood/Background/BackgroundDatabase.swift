import LatewoodDocuments
import Synchronization

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The state of a database for a piece of background work, and the changes of the work. See
/// ``Database/background(retries:_:)``, which passes it to its closure.
///
/// Use it only inside that closure and on its thread. Once the closure has returned, all calls
/// throw `notOpen`.
public final class BackgroundDatabase {
  private let database: Database
  private let state: BackgroundState
  private(set) var changes = BackgroundChanges()
  private var changed: Set<DocumentPlace> = []

  /// - Parameter check: throws `CancellationError` once the task is cancelled.
  init(_ database: Database, check: @escaping @Sendable () throws -> Void) throws(DatabaseError) {
    self.database = database
    state = BackgroundState(try database.documents.snapshot(), check: check)
  }

  /// Returns the collection with a name in this state.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if there is none in this state, or if it has been
  ///   dropped since; `invalidParameter` if the name is not valid; `notOpen` once the closure has
  ///   returned or the database is closed; `corruptData` or `inputOutput` if the file cannot be
  ///   read; `CancellationError` if the task is cancelled.
  public subscript(name: String) -> BackgroundCollection {
    get throws {
      try checkCancellation()
      guard let collection = try database.collection(name) else {
        throw DatabaseError(.notFound, "no collection is named \(name)")
      }
      return try BackgroundCollection(collection, in: state, of: self)
    }
  }

  /// Returns the collection with a name in this state, as a collection of values of a type.
  ///
  /// - Parameters:
  ///   - name: the name of the collection.
  ///   - type: the type of the values. See ``TypedCollection`` for the way in which their ids are
  ///     stored.
  /// - Throws: like the subscript without a type.
  public func collection<Value>(
    _ name: String, of type: Value.Type
  ) throws -> TypedBackgroundCollection<Value> where Value.ID: LosslessStringConvertible {
    let collection = try self[name]
    return TypedBackgroundCollection(collection, TypedCollection(collection.documents))
  }

  /// Returns the collection with a name in this state, as a collection of values of a type whose
  /// ids are `UUID`s. Otherwise like the form for other ids.
  ///
  /// - Throws: like the subscript without a type.
  public func collection<Value>(
    _ name: String, of type: Value.Type
  ) throws -> TypedBackgroundCollection<Value> where Value.ID == UUID {
    let collection = try self[name]
    return TypedBackgroundCollection(collection, TypedCollection(collection.documents))
  }

  /// Returns the collection with a name in this state, as a collection of values of a type whose
  /// ids have a `String` as raw value. Otherwise like the form for other ids.
  ///
  /// - Throws: like the subscript without a type.
  @_disfavoredOverload
  public func collection<Value>(
    _ name: String, of type: Value.Type
  ) throws -> TypedBackgroundCollection<Value> where Value.ID: RawRepresentable<String> {
    let collection = try self[name]
    return TypedBackgroundCollection(collection, TypedCollection(collection.documents))
  }

  /// Throws `CancellationError` if the task that waits for the work is cancelled. All calls of this
  /// state check that, too; a query checks it only at the start. Call it in long computations.
  ///
  /// - Throws: `CancellationError`; ``DatabaseError`` `notOpen` once the closure has returned.
  public func checkCancellation() throws { try state.check() }

  // MARK: Collecting

  /// Keeps an edit until the end of the work.
  func add(_ edit: PreparedEdit, in collection: DocumentCollection) throws {
    try checkCancellation()
    let place = DocumentPlace(collection: collection.handle.identity, id: KeyText(edit.id))
    guard changed.insert(place).inserted else {
      throw DatabaseError(
        .invalidParameter, "the document \(edit.id) is changed twice by one piece of background work",
        advice: "Reads do not show the first change: save the document once, with all changes.")
    }
    changes.edits.append(BackgroundChanges.Edit(edit: edit, collection: collection))
  }

  /// Keeps a condition for the end of the work.
  func add(_ condition: @escaping BackgroundChanges.Condition) throws {
    try checkCancellation()
    changes.conditions.append(condition)
  }

  /// Releases the state.
  func end() { state.end() }

  private struct DocumentPlace: Hashable {
    let collection: CollectionIdentity
    let id: KeyText
  }
}

/// The state that the reads of a piece of background work see, until the work ends or its task is
/// cancelled.
final class BackgroundState: Sendable {
  private let snapshot: DocumentSnapshot
  private let checkTask: @Sendable () throws -> Void
  private let hasEnded = Atomic(false)

  /// - Parameter check: throws `CancellationError` once the task is cancelled.
  init(_ snapshot: DocumentSnapshot, check: @escaping @Sendable () throws -> Void) {
    self.snapshot = snapshot
    checkTask = check
  }

  /// Throws if the work has ended or should end.
  func check() throws {
    try checkTask()
    guard !hasEnded.load(ordering: .relaxed) else {
      throw DatabaseError(
        .notOpen, "the background work has ended", advice: "Use its state only inside its closure.")
    }
  }

  func reads(_ collection: CollectionHandle) throws -> DocumentReads {
    try check()
    return try snapshot.reads(collection)
  }

  func end() {
    hasEnded.store(true, ordering: .relaxed)
    snapshot.close()
  }
}

/// The changes to commit at the end of a piece of background work.
struct BackgroundChanges: Sendable {
  struct Edit: Sendable {
    let edit: PreparedEdit
    let collection: DocumentCollection
  }

  /// Throws `conflict` if the work depends on a state that has changed. Called in the batch that
  /// commits the changes.
  typealias Condition = @Sendable () throws -> Void

  var conditions: [Condition] = []
  var edits: [Edit] = []

  var isEmpty: Bool { conditions.isEmpty && edits.isEmpty }

  /// Makes the changes, as part of the batch of the current thread.
  func commit() throws {
    for condition in conditions { try condition() }
    for edit in edits { try edit.collection.save(edit.edit) }
  }
}
