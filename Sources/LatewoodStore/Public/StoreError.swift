import LatewoodBytes

/// The error type of `LatewoodStore`: a kind, a message, the path and offset, and advice.
///
/// Errors that your own closures throw pass through unchanged.
public struct StoreError: Error, Sendable, Equatable {
  /// The kinds of errors. Minor versions may add cases.
  public enum Code: String, Sendable, CaseIterable {
    /// The file is not a Latewood database, or its header is damaged beyond recognition.
    case notADatabase
    /// The file was written by a newer version of Latewood, in an unknown format.
    case tooNew
    /// Bytes of the file have changed since they were written. `offset` is their offset in the
    /// file.
    case damaged
    /// The file is empty.
    case emptyFile
    /// The path names a directory.
    case isDirectory
    /// The file does not exist.
    case notFound
    /// The user does not have the required permission.
    case permissionDenied
    /// The file system is read-only.
    case readOnlyMedia
    /// A new database was requested, but there is already a file.
    case alreadyExists
    /// Another process has the database open for writing.
    case lockedByOtherProcess
    /// This process already has the database open for writing.
    case lockedByThisProcess
    /// The disk is full. The transaction was not committed; writing is possible again once there is
    /// space.
    case outOfSpace
    /// A system call on the file failed.
    case inputOutput
    /// An earlier write or sync failed: the store must be closed and opened again before it can be
    /// written to.
    case poisoned
    /// The store has been closed.
    case closed
    /// A key is longer than 16,384 bytes.
    case keyTooLong
    /// A key has no bytes.
    case keyEmpty
    /// A value is longer than 2 GiB.
    case valueTooLarge
    /// The file has reached the maximum addressable size.
    case fileTooLarge
    /// The snapshot has been closed.
    case snapshotClosed
    /// The transaction has ended: it is valid only inside its closure.
    case transactionFinished
    /// The store was opened read-only.
    case readOnly
    /// The keyspace has been dropped, or does not exist, or belongs to another store.
    case noSuchKeyspace
    /// A keyspace's name is empty or longer than 1,024 bytes.
    case invalidName
    /// The call is not valid: a lower bound is above the upper one, or a transaction begins inside
    /// a transaction.
    case invalidRange
    /// The system has no more memory or address space.
    case outOfMemory
    /// The file system or operating system does not support the operation.
    case unsupported
    /// A compaction, a copy or a wait for the writer lock was cancelled, or the store was closed in
    /// the meantime. Nothing was changed.
    case cancelled
    /// The file was removed, renamed or replaced while the store had it open. The store does not
    /// write to it any more; reads and ``Store/copy(to:bytesPerSecond:progress:)`` still work.
    case fileMoved
    /// The file has a second name, a hard link. A compaction would replace the file only under one
    /// name, which would result in two databases.
    case hardLinked
    /// The file is encrypted, and no key was given.
    case keyNeeded
    /// The key does not open the file: it is another key, or the password is wrong. The file is not
    /// damaged.
    case wrongKey
    /// A key was given for a file that is not encrypted.
    case notEncrypted
    /// The state of the file does not descend from ``Store/Options/expectedAnchor``: the file is an
    /// older copy, or was continued from an older copy, or is another file.
    case rolledBack
  }

  /// The kind of the error.
  public var code: Code
  /// A description of the problem, in one sentence.
  public var message: String
  /// A recommended action, in one sentence.
  public var advice: String
  /// The offset in the file, if the error concerns bytes of it.
  public var offset: UInt64?
  /// The path of the file, if the error concerns a file.
  public var path: String?
  /// The system's error number, if a system call failed.
  public var systemError: Int32?

  package init(_ error: StorageError, path: String? = nil) {
    code = Code(rawValue: error.kind.rawValue) ?? .inputOutput
    message = error.reason
    advice = error.advice ?? Self.advice(for: code)
    offset = error.offset
    self.path = error.path ?? path
    systemError = error.errno
  }

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
    advice = Self.advice(for: code)
  }

  /// Whether the advice is specific to this error, and not the usual advice for its code.
  package var hasOwnAdvice: Bool { advice != Self.advice(for: code) }

  private static func advice(for code: Code) -> String {
    switch code {
    case .notADatabase: "Check the path. Nothing was changed."
    case .tooNew: "Open it with the version of Latewood that wrote it, or a newer one."
    case .damaged: "Restore a backup, or run `latewood verify` to list all damage. Nothing was changed."
    case .emptyFile: "Remove the file to start a new database at this path."
    case .isDirectory: "Use the path of a file."
    case .notFound: "Check the path, or open with the mode that creates the database."
    case .permissionDenied: "Check owner and permissions of the file and of its directory."
    case .readOnlyMedia: "Open it read-only."
    case .alreadyExists: "Open the existing file, or choose another path."
    case .lockedByOtherProcess:
      "Open it read-only, wait for it with `lockTimeout`, or close it in the other process."
    case .lockedByThisProcess: "Use the store that is already open, or open it read-only."
    case .outOfSpace: "Free space on the disk and write again. Earlier commits are not affected."
    case .inputOutput:
      "Check the disk, and open the store again. Acknowledged commits are there unless the disk lost what it had confirmed."
    case .poisoned:
      "Close the store and open it again. Acknowledged commits are there unless the disk lost what it had confirmed."
    case .closed: "Open the store again."
    case .keyTooLong: "Use keys of at most 16,384 bytes, for example a hash of a long key."
    case .keyEmpty: "Use a key of at least one byte."
    case .valueTooLarge: "Split the value into pieces of at most 2 GiB."
    case .fileTooLarge: "Copy the live data into a new file."
    case .snapshotClosed: "Take a new snapshot."
    case .transactionFinished: "Use a transaction only inside its closure."
    case .readOnly: "Open the store for writing."
    case .noSuchKeyspace: "Look up the keyspace in this store by its name again."
    case .invalidName: "Use a name of 1 to 1,024 bytes."
    case .invalidRange: "Correct the call; nothing was changed."
    case .outOfMemory: "Close other stores, or raise the limit of the process."
    case .unsupported: "Keep the database in a regular file on a local disk."
    case .cancelled: "Nothing was changed; try again."
    case .fileMoved:
      "Save the state with copy(to:), then close the store and open the file at the path."
    case .hardLinked: "Remove the other name of the file, or write a new file with copy(to:)."
    case .keyNeeded: "Open it with its key: set `encryptionKey`."
    case .wrongKey: "Use the key that the file was encrypted with. Nothing was changed."
    case .notEncrypted:
      "Open it without a key; `changeEncryptionKey(to:)` encrypts it. Nothing was changed."
    case .rolledBack:
      "Find out who replaced the file. To accept its state, open it without `expectedAnchor`. Nothing was changed."
    }
  }
}

extension StoreError: CustomStringConvertible {
  /// The path, message, offset and advice in one line.
  public var description: String { advice.isEmpty ? summary : summary + " " + advice }

  /// The path, message and offset, as a sentence.
  package var summary: String {
    var text = path.map { "\($0): " } ?? ""
    text += message
    if let offset { text += " (at offset \(offset))" }
    if let systemError { text += " (system error \(systemError))" }
    return text.hasSuffix(".") ? text : text + "."
  }
}
