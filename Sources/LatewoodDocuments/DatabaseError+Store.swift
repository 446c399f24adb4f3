import LatewoodBytes
import LatewoodStore
import LatewoodText

extension DatabaseError {
  /// Returns the code of a store's error, and the message and advice where those of the store do
  /// not speak of documents.
  static func inTermsOfDocuments(_ error: StoreError) -> (Code, message: String?, advice: String?) {
    switch error.code {
    case .closed, .snapshotClosed: (.notOpen, nil, nil)
    case .transactionFinished:
      (.notOpen, "the batch has ended", "Make the changes inside of its closure.")
    case .noSuchKeyspace:
      (
        .notFound, "the collection has been dropped, or an index or view of it",
        "Get the collection from the database again."
      )
    case .keyEmpty, .keyTooLong:
      (
        .badDocumentID, "the id of a document is \(error.code == .keyEmpty ? "empty" : "too long")",
        "Use an id of 1 to 8,000 bytes."
      )
    case .invalidRange where error.message == Transaction.readInPlace:
      (
        .invalidParameter, "a batch cannot change documents while a closure reads them in place",
        "Collect the results first, and make the changes afterwards."
      )
    case .damaged: (.corruptData, nil, nil)
    case .emptyFile, .notADatabase: (.wrongFormat, nil, nil)
    case .tooNew: (.tooNew, nil, nil)
    case .wrongKey: (.wrongKey, nil, nil)
    case .keyNeeded: (.keyNeeded, nil, nil)
    case .notEncrypted: (.notEncrypted, nil, nil)
    case .rolledBack: (.rolledBack, nil, nil)
    case .notFound: (.notFound, nil, nil)
    case .alreadyExists: (.conflict, nil, nil)
    case .lockedByOtherProcess, .lockedByThisProcess: (.busy, nil, nil)
    case .isDirectory, .valueTooLarge, .invalidName, .invalidRange, .cancelled: (.invalidParameter, nil, nil)
    case .permissionDenied, .readOnlyMedia, .outOfSpace, .fileTooLarge, .readOnly, .fileMoved, .hardLinked:
      (.notWritable, nil, nil)
    case .inputOutput, .poisoned, .outOfMemory, .unsupported: (.inputOutput, nil, nil)
    }
  }

  /// Returns an error of this layer or of those below as a `DatabaseError`. Returns any other
  /// error, which is from a caller's closure, unchanged.
  package static func translated(_ error: any Error) -> any Error {
    switch error {
    case let error as StoreError: DatabaseError(error)
    case let error as StorageError: DatabaseError(StoreError(error))
    case let error as TextIndexDamage:
      DatabaseError(
        .corruptData, "a full-text index is damaged: \(error.reason)",
        advice: "Drop the index and create it again; `latewood verify` names it.")
    default: error
    }
  }

  /// Runs calls of the store, and converts their errors.
  @inline(__always) static func typed<R>(_ body: () throws -> R) throws(DatabaseError) -> R {
    do { return try body() } catch { throw from(error) }
  }

  /// Returns an error of calls that throw only errors of this layer and of those below.
  @inline(never) package static func from(_ error: any Error) -> DatabaseError {
    translated(error) as? DatabaseError ?? DatabaseError(.inputOutput, String(describing: error))
  }
}
