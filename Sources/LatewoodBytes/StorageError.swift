/// The error type of all layers below the public products.
///
/// An error has a kind, an offset in the file, a reason in one human-readable sentence and, if
/// known, advice on what to do. The public products convert it to their own error types.
@usableFromInline package struct StorageError: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, Equatable, CaseIterable {
    case notADatabase, tooNew, damaged, emptyFile, isDirectory, notFound, permissionDenied, readOnlyMedia
    case alreadyExists, lockedByOtherProcess, lockedByThisProcess, outOfSpace, inputOutput, poisoned, closed
    case keyTooLong, keyEmpty, valueTooLarge, fileTooLarge, snapshotClosed, transactionFinished, readOnly
    case noSuchKeyspace, invalidName, invalidRange, outOfMemory, unsupported, cancelled, fileMoved, hardLinked
    case keyNeeded, wrongKey, notEncrypted, rolledBack
  }

  package var kind: Kind
  /// The offset in the file, if any.
  package var offset: UInt64?
  package var reason: String
  /// The error number of the system call that failed.
  package var errno: Int32?
  package var path: String?
  /// The advice on what to do, in one sentence; nil for the usual advice for the kind.
  package var advice: String?

  package init(
    _ kind: Kind, _ reason: String, offset: UInt64? = nil, errno: Int32? = nil, path: String? = nil,
    advice: String? = nil
  ) {
    self.kind = kind
    self.reason = reason
    self.offset = offset
    self.errno = errno
    self.path = path
    self.advice = advice
  }

  @usableFromInline package static func damaged(at offset: UInt64, _ reason: String) -> StorageError {
    StorageError(.damaged, reason, offset: offset)
  }
}
