import LatewoodBytes

extension StorageError {
  /// Creates the error of a failed system call, with its meaning for the caller.
  ///
  /// `action` completes "could not …": "open the file".
  package init(_ error: ErrorNumber, _ action: String, path: String?, offset: UInt64? = nil) {
    let (kind, reason, advice) = StorageError.meaning(of: error)
    self.init(
      kind, "could not \(action): \(reason ?? error.message)", offset: offset, errno: error.code, path: path,
      advice: advice)
  }

  private static func meaning(of error: ErrorNumber) -> (Kind, reason: String?, advice: String?) {
    switch error {
    case .noSuchFile: (.notFound, "there is nothing at this path", nil)
    case .notADirectory: (.notFound, "a part of the path is not a directory", nil)
    case .isADirectory: (.isDirectory, "it is a directory; a database is one file", nil)
    case .exists: (.alreadyExists, "there is already something at this path", nil)
    case .accessDenied: (.permissionDenied, "this user has no permission", nil)
    case .notPermitted: (.permissionDenied, "the system does not permit it", nil)
    case .readOnlyFileSystem: (.readOnlyMedia, "the file system is mounted read-only", nil)
    case .noSpace: (.outOfSpace, "the disk is full; free some space and try again", nil)
    case .quotaExceeded:
      (.outOfSpace, "the disk quota is used up", "Free some space of this user, or raise the quota.")
    case .fileTooBig:
      (
        .outOfSpace, "the file would be larger than the file system or the process limit allows",
        "Raise the limit of the process (ulimit -f), or keep the database on a file system that allows more."
      )
    case .noMemory: (.outOfMemory, "the system has no memory or address space left", nil)
    case .noLocks, .notSupported: (.unsupported, "this file system does not support it", nil)
    case .tooManyOpenInProcess:
      (
        .inputOutput, "this process has too many files open",
        "Close some, or raise the limit of the process (ulimit -n)."
      )
    case .tooManyOpenInSystem:
      (.inputOutput, "the system has too many files open", "End other programs, or raise the system's limit.")
    case .nameTooLong:
      (
        .invalidName, "the path is too long",
        "Use a shorter path: most file systems allow 255 bytes for each name in it."
      )
    case .tooManyLinks:
      (
        .invalidName, "the path leads through too many symbolic links, or one where none is allowed",
        "Give the path of the file itself."
      )
    case .inputOutput: (.inputOutput, "the storage device reports an error", nil)
    default: (.inputOutput, nil, nil)
    }
  }

  /// The error of a symbolic link without a target, in whose place no file is created.
  ///
  /// - Parameter text: the text of the link.
  static func danglingLink(_ path: String, _ text: String) -> StorageError {
    StorageError(
      .notFound, "this is a symbolic link to \(text), where there is no file", path: path,
      advice: "Mount the volume that the link leads to, give the path of the file itself, or remove the link."
    )
  }

  /// The error of a missing directory for a file.
  static func noDirectory(_ directory: String, for path: String, _ error: ErrorNumber) -> StorageError {
    var failure = StorageError(error, "find the directory \(directory)", path: path)
    guard failure.kind == .notFound else { return failure }
    failure.reason = "the directory \(directory) does not exist"
    failure.advice =
      directory.hasPrefix("~")
      ? "Give the whole path of the home directory: a tilde means nothing to the system, only to shells."
      : "Create the directory first: only files are made here."
    return failure
  }
}
