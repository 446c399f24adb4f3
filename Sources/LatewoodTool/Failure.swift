import LatewoodBytes
import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodReplicator
import LatewoodStore

/// The failure of a command, which becomes two lines on standard error and an exit code.
///
/// Commands throw failures of their own, and the errors of the libraries as they are.
/// `LatewoodCommand` makes a failure of each error in the end. A function declares that it throws
/// only failures if its caller reads them.
struct Failure: Error, Equatable {
  var exitCode: ExitCode
  /// A short stable word for programs.
  var code: String
  /// The problem, as a sentence without the final full stop.
  var message: String
  /// The recommended next step; empty without advice.
  var advice = ""
  var path: String?
  /// The offset in the database file, in bytes.
  var offset: UInt64?
  /// The position in a JSON text, counted from 1. Columns count Unicode scalars.
  var line: Int?
  var column: Int?
  /// The line of a statement with a mark below the position, for people.
  var excerpt: String?

  init(_ exitCode: ExitCode, code: String, _ message: String, advice: String = "", path: String? = nil) {
    self.exitCode = exitCode
    self.code = code
    self.message = message
    self.advice = advice
    self.path = path
  }

  static func usage(_ message: String, advice: String = "") -> Failure {
    Failure(.usage, code: "usage", message, advice: advice)
  }

  static func badInput(_ message: String, advice: String = "") -> Failure {
    Failure(.badInput, code: "badInput", message, advice: advice)
  }

  static let brokenPipe = Failure(.brokenPipe, code: "brokenPipe", "the output pipe was closed")

  /// Creates the failure for any error that a command throws.
  init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let error as StoreError: self.init(error)
    case let error as DatabaseError: self.init(error)
    case let error as FleeceError: self.init(.damaged, code: "damaged", Self.withoutStop(error.reason))
    case let error as StorageError: self.init(error)
    case let error as ReplicationError: self.init(error)
    case let error as QueryError: self.init(error)
    default:
      if let error = DatabaseError.translated(error) as? DatabaseError {
        self.init(error)
      } else {
        self.init(.inputOutput, code: "unknown", "\(error)")
      }
    }
  }

  /// Runs `body`. If it throws, `change` adds facts to the failure that only the caller knows, such
  /// as a line.
  static func amending<R>(_ body: () throws -> R, by change: (inout Failure) -> Void) throws(Failure) -> R {
    do { return try body() } catch {
      var failure = Failure(error)
      change(&failure)
      throw failure
    }
  }

  /// Runs `body`. If it throws, the failure names the file, unless it names another.
  static func naming<R>(_ path: String, _ body: () throws -> R) throws(Failure) -> R {
    try amending(body) { failure in failure.path = failure.path ?? path }
  }

  /// Returns the failure for an error that means that a part of the file is unreadable. Rethrows
  /// any other error.
  static func ofUnreadablePart(_ error: any Error) throws -> Failure {
    let failure = Failure(error)
    guard ["damaged", "inputOutput"].contains(failure.code) else { throw error }
    return failure
  }

  init(_ error: StoreError) {
    self.init(
      Self.exitCode(of: error.code.rawValue), code: error.code.rawValue, Self.withoutStop(error.message),
      advice: Self.advice(for: error), path: error.path)
    offset = error.offset
  }

  init(_ error: DatabaseError) {
    if let store = error.store {
      self.init(store)
      return
    }
    let own = error.hasOwnAdvice ? error.advice : ""
    let (exitCode, advice): (ExitCode, String) =
      switch error.code {
      case .wrongFormat: (.badInput, "Use the commands for entries, or another file for documents.")
      case .corruptRevisionData, .corruptData: (.damaged, "`latewood verify` lists all other damage.")
      case .notFound: (.no, "")
      case .tooOld, .tooNew, .notOpen, .notWritable, .keyNeeded, .wrongKey, .notEncrypted,
        .rolledBack:
        (.cannotOpen, "")
      case .conflict where error.hasOwnAdvice: (.no, own)
      case .conflict: (.no, "Read the document again, and name the revision to replace.")
      case .notUnique: (.no, "Change one of the documents, or drop the index.")
      case .badRevisionID, .invalidParameter, .badDocumentID, .invalidJSON: (.badInput, own)
      case .busy, .inputOutput: (.inputOutput, "")
      }
    self.init(exitCode, code: Self.word(for: error.code), Self.withoutStop(error.message), advice: advice)
  }

  /// Returns the stable word for the code of an error about documents.
  static func word(for code: DatabaseError.Code) -> String {
    switch code {
    case .badRevisionID: "badRevision"
    case .corruptRevisionData: "corruptRevisions"
    case .invalidParameter: "badArgument"
    case .badDocumentID: "badID"
    default: "\(code)"
    }
  }

  init(_ error: StorageError) {
    self.init(
      Self.exitCode(of: error.kind.rawValue), code: error.kind.rawValue, Self.withoutStop(error.reason),
      advice: error.advice ?? "", path: error.path)
    offset = error.offset
  }

  private static func exitCode(of code: String) -> ExitCode {
    switch code {
    case "damaged": .damaged
    case "notADatabase", "tooNew", "emptyFile", "isDirectory", "notFound", "permissionDenied",
      "readOnlyMedia",
      "alreadyExists", "lockedByOtherProcess", "lockedByThisProcess", "unsupported", "hardLinked",
      "keyNeeded", "wrongKey", "notEncrypted", "rolledBack":
      .cannotOpen
    case "keyTooLong", "keyEmpty", "valueTooLarge", "invalidName", "invalidRange": .badInput
    case "noSuchKeyspace": .no
    default: .inputOutput
    }
  }

  /// Returns advice in terms of the command line: the store's own advice is for programmers.
  private static func advice(for error: StoreError) -> String {
    switch error.code {
    // The error's own advice is more specific.
    case .notFound where error.hasOwnAdvice, .outOfSpace where error.hasOwnAdvice: error.advice
    case .notFound:
      "Check the path. `latewood put` and `latewood import` create a database, but no directory."
    case .lockedByOtherProcess:
      "Commands that only read work beside it; those that write wait for it with --wait 30s."
    case .outOfSpace: "Free space on the disk and run it again; earlier commits are not affected."
    case .damaged: whatToDoAboutDamage
    case .keyNeeded: whatToDoWithoutKey
    case .wrongKey: "Nothing was changed."
    case .rolledBack: "Find out who replaced the file. Without --expect, its state is accepted."
    case .notEncrypted where error.hasOwnAdvice: error.advice
    case .notEncrypted: "Leave the key out; `latewood encrypt` encrypts a database."
    case .hardLinked: "Remove the other name of the file, or write a new file with `latewood copy`."
    default: error.advice
    }
  }

  static let whatToDoWithoutKey = "Give its key with --password or --key-file FILE."

  static let whatToDoAboutDamage =
    "Restore a backup, or save the readable data with `latewood salvage`; `latewood inspect map` shows the damage."

  private static func withoutStop(_ text: String) -> String {
    text.hasSuffix(".") ? String(text.dropLast()) : text
  }
}
