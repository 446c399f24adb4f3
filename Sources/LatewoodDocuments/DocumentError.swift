import LatewoodBytes
import LatewoodStore

/// The one error of this layer. The public product turns it into its own.
package struct DocumentError: Error, Sendable, Equatable, CustomStringConvertible {
  package enum Code: String, Sendable, CaseIterable {
    /// A revision id, or a history of them, that cannot be one.
    case badRevision
    /// Bytes of a document's record that are not what was written.
    case corruptRevisions
    /// Other bytes that are not what was written.
    case corruptData
    case notOpen
    case notFound
    /// A new database was asked for, and there is one.
    case alreadyExists
    /// The revision to be replaced is not current.
    case conflict
    /// Another document has the same values in a unique index.
    case notUnique
    case notWritable
    /// Something that must wait for the batch that is running.
    case busy
    /// The file is a store, but not of documents.
    case wrongFormat
    case tooNew
    case badArgument
    /// The store below refused: see `store`.
    case store
  }

  package var code: Code
  /// One sentence: what is wrong.
  package var message: String
  /// What the store said, if it was the store.
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

  /// What calls that throw nothing else have caught.
  static func from(_ error: any Error) -> DocumentError {
    if let error = error as? DocumentError { return error }
    if let error = error as? StoreError { return DocumentError(error) }
    if let fault = error as? Fault { return DocumentError(StoreError(fault)) }
    return DocumentError(.store, String(describing: error))
  }

  /// Runs calls of the store whose closures cannot say what they throw.
  static func typed<R>(_ body: () throws -> R) throws(DocumentError) -> R {
    do { return try body() } catch { throw from(error) }
  }
}
