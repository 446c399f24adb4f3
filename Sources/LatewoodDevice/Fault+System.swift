import LatewoodBytes

extension Fault {
  /// The fault of a system call that failed, with what it means for the one who called.
  ///
  /// `action` completes "could not …": "open the file".
  package init(_ error: ErrorNumber, _ action: String, path: String?, offset: UInt64? = nil) {
    let (kind, advice) = Fault.meaning(of: error)
    self.init(
      kind, "could not \(action): \(advice ?? error.message)", offset: offset, errno: error.code, path: path)
  }

  private static func meaning(of error: ErrorNumber) -> (Kind, advice: String?) {
    switch error {
    case .noSuchFile: (.notFound, "there is nothing at this path")
    case .notADirectory: (.notFound, "a part of the path is not a directory")
    case .isADirectory: (.isDirectory, "it is a directory; a database is one file")
    case .exists: (.alreadyExists, "there is already something at this path")
    case .accessDenied:
      (
        .permissionDenied,
        "this user has no permission; check the owner and mode of the file and its directory"
      )
    case .notPermitted: (.permissionDenied, "the system does not permit it")
    case .readOnlyFileSystem:
      (.readOnlyMedia, "the file system is mounted read-only; open the database read-only")
    case .noSpace: (.outOfSpace, "the disk is full; free some space and try again")
    case .quotaExceeded: (.outOfSpace, "the disk quota is used up; free some space and try again")
    case .fileTooBig:
      (.outOfSpace, "the file would be larger than the file system or the process limit allows")
    case .noMemory: (.outOfMemory, "the system has no memory or address space left")
    case .noLocks, .notSupported:
      (.unsupported, "this file system does not support it; keep the database on a local disk")
    case .tooManyOpenInProcess:
      (.inputOutput, "this process has too many files open; raise its limit (ulimit -n)")
    case .tooManyOpenInSystem: (.inputOutput, "the system has too many files open")
    case .nameTooLong: (.invalidName, "the path is too long")
    case .tooManyLinks:
      (.invalidName, "the path leads through too many symbolic links, or one where none is allowed")
    case .inputOutput:
      (.inputOutput, "the storage device reports an error; check the system's log and the disk")
    default: (.inputOutput, nil)
    }
  }

  /// Whether the reader of a pipe has gone away.
  package var isBrokenPipe: Bool { errno == ErrorNumber.brokenPipe.code }
}
