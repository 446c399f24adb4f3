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
    /// The store refused: see `store`.
    case store
  }

  package var code: Code
  /// The problem, in one sentence.
  package var message: String
  /// The store's error that caused this one, if any.
  package var store: StoreError?

  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package init(_ error: StoreError) {
    code =
      switch error.code {
      case .closed, .snapshotClosed, .transactionFinished: .notOpen
      case .readOnly: .notWritable
      case .noSuchKeyspace: .notFound
      case .damaged: .corruptData
      case .notADatabase: .wrongFormat
      case .tooNew: .tooNew
      case .notFound: .notFound
      case .alreadyExists: .alreadyExists
      case .lockedByOtherProcess, .lockedByThisProcess: .busy
      default: .store
      }
    message = error.message
    store = error
  }

  package var description: String { store?.description ?? message }

  /// Converts any error that this layer can catch.
  private static func from(_ error: any Error) -> DocumentError {
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
