import LatewoodBytes
import LatewoodStore

/// The only error type of this layer. The public product translates it into its own.
package struct DocumentError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// A revision id, or a history of revisions, is not valid.
    case badRevision
    /// A document's record is damaged.
    case corruptRevisions
    /// Other bytes are damaged.
    case corruptData
    case notOpen
    case notFound
    /// A new database was requested, but the file exists.
    case alreadyExists
    /// The revision to be replaced is no longer current.
    case conflict
    /// Another document has the same values in a unique index.
    case notUnique
    case notWritable
    /// The call must wait for the batch that is running.
    case busy
    /// The file is a store, but does not hold documents.
    case wrongFormat
    case tooNew
    case badArgument
    /// No document can have the id.
    case badID
    /// The store refused: see `store`.
    case store
  }

  package var code: Code
  /// The problem, in one sentence.
  package var message: String
  /// The next step, in one sentence, if it is not the usual one for the code.
  package var advice: String?
  /// The store's error that caused this one, if any.
  package var store: StoreError?

  package init(_ code: Code, _ message: String, advice: String? = nil) {
    self.code = code
    self.message = message
    self.advice = advice
  }

  package init(_ error: StoreError) {
    code =
      switch error.code {
      case .closed, .snapshotClosed, .transactionFinished: .notOpen
      case .readOnly: .notWritable
      case .noSuchKeyspace: .notFound
      case .keyEmpty, .keyTooLong: .badID
      case .damaged: .corruptData
      case .notADatabase: .wrongFormat
      case .tooNew: .tooNew
      case .notFound: .notFound
      case .alreadyExists: .alreadyExists
      case .lockedByOtherProcess, .lockedByThisProcess: .busy
      default: .store
      }
    let error = DocumentError.inTermsOfDocuments(error)
    message = error.message
    store = error
  }

  /// Returns the store's error in the terms of documents instead of keys and transactions.
  private static func inTermsOfDocuments(_ error: StoreError) -> StoreError {
    var error = error
    switch error.code {
    case .keyEmpty, .keyTooLong:
      error.message = "the id of a document is \(error.code == .keyEmpty ? "empty" : "too long")"
      error.advice = "Use an id of 1 to \(NameRules.longestID) bytes."
    case .noSuchKeyspace:
      error.message = "the collection has been dropped, or an index or view of it"
      error.advice = "Get the collection from the database again."
    case .transactionFinished:
      error.message = "the batch has ended"
      error.advice = "Make the changes inside of its closure."
    case .invalidRange where error.message == Transaction.readInPlace:
      error.message = "a batch cannot change documents while a closure reads them in place"
      error.advice = "Collect the results first, and make the changes afterwards."
    default: break
    }
    return error
  }

  package var description: String { store?.description ?? message }

  /// Converts any error that this layer can catch.
  static func from(_ error: any Error) -> DocumentError {
    if let error = error as? DocumentError { return error }
    if let error = error as? StoreError { return DocumentError(error) }
    if let failure = error as? StorageError { return DocumentError(StoreError(failure)) }
    return DocumentError(.store, String(describing: error))
  }

  /// Runs calls of the store, and converts their errors.
  @inline(__always) static func typed<R>(_ body: () throws -> R) throws(DocumentError) -> R {
    do { return try body() } catch { throw from(error) }
  }
}
