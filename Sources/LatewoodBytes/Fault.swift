/// The one error of every layer below the public products.
///
/// A fault says what is wrong (`kind`), where in the file (`offset`), and in one sentence for a
/// person what that means and, where it is known, what to do about it. The public products turn it
/// into their own error type.
@usableFromInline package struct Fault: Error, Sendable, Equatable {
  package enum Kind: String, Sendable, Equatable, CaseIterable {
    case notADatabase, tooNew, damaged, emptyFile, isDirectory, notFound, permissionDenied, readOnlyMedia
    case alreadyExists, lockedByOtherProcess, lockedByThisProcess, outOfSpace, inputOutput, poisoned, closed
    case keyTooLong, keyEmpty, valueTooLarge, fileTooLarge, snapshotClosed, transactionFinished, readOnly
    case noSuchKeyspace, invalidName, invalidRange, outOfMemory, unsupported, cancelled, fileMoved, hardLinked
  }

  package var kind: Kind
  /// In the file; nil where the fault is not about a place in it.
  package var offset: UInt64?
  package var reason: String
  /// Of the system call that failed.
  package var errno: Int32?
  package var path: String?
  /// A sentence: what to do about it. Nil: what usually helps with faults of this kind.
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

  @usableFromInline package static func damaged(at offset: UInt64, _ reason: String) -> Fault {
    Fault(.damaged, reason, offset: offset)
  }
}
