import LatewoodBytes
import LatewoodDocuments
import LatewoodStore

extension DatabaseError {
  init(_ error: DocumentError) {
    if let store = error.store {
      self.init(store, error.code)
      return
    }
    self.init(DatabaseError.code(for: error.code), error.message, advice: error.advice)
  }

  private static func code(for code: DocumentError.Code) -> Code {
    switch code {
    case .badRevision: .badRevisionID
    case .corruptRevisions: .corruptRevisionData
    case .corruptData: .corruptData
    case .notOpen: .notOpen
    case .notFound: .notFound
    case .alreadyExists, .conflict: .conflict
    case .notUnique: .notUnique
    case .notWritable: .notWritable
    case .busy: .busy
    case .wrongFormat: .wrongFormat
    case .tooNew: .tooNew
    case .badArgument: .invalidParameter
    case .badID: .badDocumentID
    case .store: .inputOutput
    }
  }

  private init(_ error: StoreError, _ code: DocumentError.Code) {
    let code: Code =
      switch error.code {
      case .emptyFile, .notADatabase: .wrongFormat
      case .isDirectory, .valueTooLarge, .invalidName, .invalidRange, .cancelled: .invalidParameter
      case .permissionDenied, .readOnlyMedia, .outOfSpace, .fileTooLarge, .readOnly, .fileMoved, .hardLinked:
        .notWritable
      case .inputOutput, .poisoned, .outOfMemory, .unsupported: .inputOutput
      default: DatabaseError.code(for: code)
      }
    self.init(code, error.message, advice: error.advice.isEmpty ? nil : error.advice)
    path = error.path
    offset = error.offset.map { Int(clamping: $0) }
  }

  init(_ error: StoreError) { self.init(DocumentError(error)) }

  init(error: StorageError, path: String) { self.init(StoreError(error, path: path)) }

  /// Returns an error of the layers below as a `DatabaseError`. Returns any other error, which is
  /// from a caller's closure, unchanged.
  static func translated(_ error: any Error) -> any Error {
    switch error {
    case let error as DocumentError: DatabaseError(error)
    case let error as StoreError: DatabaseError(error)
    default: error
    }
  }
}

/// Runs calls of the document engine, and translates their errors.
///
/// - Parameter path: the path of the database, for errors without a path.
func translating<R>(
  _ path: String? = nil, _ body: () throws(DocumentError) -> R
) throws(DatabaseError) -> R {
  do { return try body() } catch {
    var error = DatabaseError(error)
    error.path = error.path ?? path
    throw error
  }
}
