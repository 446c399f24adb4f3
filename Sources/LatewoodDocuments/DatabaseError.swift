import LatewoodFleece
import LatewoodStore

/// The error type of all calls in `Latewood`: it describes the problem and gives advice.
///
/// ```swift
/// do {
///   try await people.save(anna)
/// } catch let error as DatabaseError where error.code == .conflict {
///   // somebody else has saved it
/// }
/// ```
///
/// Signatures use untyped `throws`, so that such a clause works as it does with any other library.
///
/// There are two exceptions: errors of your own closures pass through unchanged, and so do the
/// `EncodingError` and `DecodingError` of your own types.
///
/// ## Errors by kind of call
///
/// Each call documents the errors that are specific to it. The others depend on its kind:
///
/// - A read throws `notOpen` once the database is closed; `notFound` once the collection is
///   dropped; `corruptData` or `inputOutput` if the file cannot be read.
/// - A query throws the errors of a read, and `invalidParameter` if a condition or an order is not
///   valid.
/// - A change throws `notWritable` if the database was opened read-only, its disk is full or its
///   file is gone; `notOpen` once it is closed; `notFound` once the collection is dropped;
///   `corruptData` or `inputOutput` if the file cannot be read or written.
/// - An async call throws the errors of its blocking form, and `CancellationError` if the task is
///   cancelled in time: before a read begins, before a query ends, before a change is committed,
///   or before any other call begins.
public struct DatabaseError: Error, Sendable, Equatable {
  /// The kind of an error. The numbers are the error codes of Couchbase Lite; numbers above 20000
  /// are for errors that it does not have. Minor versions may add codes.
  public enum Code: Int, Sendable, CaseIterable {
    /// A revision id is not of the form `generation-digest`, with a digest of 1 to 32 bytes in
    /// hexadecimal digits or a text of 1 to 46 bytes without control characters.
    case badRevisionID = 4
    /// The body of a revision is damaged, or has members that a body cannot have.
    case corruptRevisionData = 5
    /// The database or collection is closed, or was deleted.
    case notOpen = 6
    /// The document, revision, blob or collection does not exist.
    case notFound = 7
    /// Someone else has saved the document since it was read.
    case conflict = 8
    /// A value that the call does not accept.
    case invalidParameter = 9
    /// The system failed to read or write the file.
    case inputOutput = 12
    /// The database was opened read-only, its disk is full, or its file was removed.
    case notWritable = 14
    /// The database file is damaged.
    case corruptData = 15
    /// Another process has the database open for writing, or this call would have to wait for work
    /// of the calling thread.
    case busy = 16
    /// The file is not a Latewood database.
    case wrongFormat = 21
    /// The database was written by a version that is too old to be read. Not thrown so far: every
    /// release reads the files of all releases before it.
    case tooOld = 27
    /// The database was written by a newer version, in a format that this one does not know.
    case tooNew = 28
    /// A document id is empty, too long, or has characters that an id cannot have.
    case badDocumentID = 29
    /// The key does not open the database: it is another key, or the password is wrong. The file is
    /// not damaged. The number is the status of Couchbase Lite 1.
    case wrongKey = 401
    /// A text is not valid JSON, or not the JSON of a document.
    case invalidJSON = 17001
    /// Another document has the same values in a unique index.
    case notUnique = 20001
    /// The database is encrypted, and no key was given.
    case keyNeeded = 20002
    /// A key was given for a database that is not encrypted.
    case notEncrypted = 20003
    /// The database does not descend from the state that was expected: the file is an older copy,
    /// or was continued from an older copy, or is another file.
    case rolledBack = 20004
  }

  /// The contents, which never change, so that an error is as small as a reference.
  private final class Contents: Sendable, Equatable {
    struct Fields: Sendable, Equatable {
      var code: Code
      var message: String
      var advice: String
      var path: String?
      var offset: Int?
      var line: Int?
      var column: Int?
      var store: StoreError?
    }

    let fields: Fields

    init(_ fields: Fields) { self.fields = fields }

    static func == (left: Contents, right: Contents) -> Bool { left.fields == right.fields }
  }

  private var contents: Contents

  private subscript<Value>(field: WritableKeyPath<Contents.Fields, Value>) -> Value {
    get { contents.fields[keyPath: field] }
    set {
      var fields = contents.fields
      fields[keyPath: field] = newValue
      contents = Contents(fields)
    }
  }

  /// The kind of the error.
  public var code: Code {
    get { self[\.code] }
    set { self[\.code] = newValue }
  }
  /// The description of the problem, in one sentence.
  public var message: String {
    get { self[\.message] }
    set { self[\.message] = newValue }
  }
  /// The advice on what to do, in one sentence.
  public var advice: String {
    get { self[\.advice] }
    set { self[\.advice] = newValue }
  }
  /// The path of the file, if the error is about one.
  public var path: String? {
    get { self[\.path] }
    set { self[\.path] = newValue }
  }
  /// The offset in a JSON text or in the bytes of a body, from zero, if the error is about a
  /// position in it.
  public var offset: Int? {
    get { self[\.offset] }
    set { self[\.offset] = newValue }
  }
  /// The line in a JSON text, from 1.
  public var line: Int? {
    get { self[\.line] }
    set { self[\.line] = newValue }
  }
  /// The column in a JSON text, in Unicode scalars, from 1.
  public var column: Int? {
    get { self[\.column] }
    set { self[\.column] = newValue }
  }
  /// The store's error that this one reports; nil if the error is not about the store.
  package var store: StoreError? { contents.fields.store }

  /// - Parameter advice: what to do; default: the usual advice for the code.
  package init(_ code: Code, _ message: String, advice: String? = nil) {
    contents = Contents(
      Contents.Fields(code: code, message: message, advice: advice ?? Self.advice(for: code)))
  }

  /// Creates the error that reports an error of the store.
  package init(_ error: StoreError) {
    var store = error
    let (code, message, advice) = Self.inTermsOfDocuments(error)
    store.message = message ?? error.message
    store.advice = advice ?? error.advice
    contents = Contents(
      Contents.Fields(
        code: code, message: store.message,
        advice: store.advice.isEmpty ? Self.advice(for: code) : store.advice,
        path: error.path, offset: error.offset.map { Int(clamping: $0) }, store: store))
  }

  /// Whether the advice is specific to this error, and not the usual advice for its code.
  package var hasOwnAdvice: Bool { advice != Self.advice(for: code) }

  private static func advice(for code: Code) -> String {
    switch code {
    case .badRevisionID: "Use the revision id of a document or a change."
    case .corruptRevisionData: "Save the document again from a good copy, or purge it."
    case .notOpen: "Open the database again, and get the collection from it."
    case .notFound: "Check the name or id; it may have been deleted or purged."
    case .conflict:
      "Read the document again, apply the change to it and save that; `update` does so by itself."
    case .invalidParameter: "Correct the value; the documentation of the call lists the accepted values."
    case .inputOutput:
      "Check the disk, and open the database again. Acknowledged commits are there unless the disk lost data that it had confirmed."
    case .notWritable: "Open the database for writing, and check permissions and free space."
    case .corruptData: "Restore a backup, or run `latewood verify` to list all damage."
    case .busy:
      "Close the database in the other process, wait for that with `lockTimeout`, or open it read-only."
    case .wrongFormat: "Check the path. Nothing was changed."
    case .tooOld: "Open it with an intermediate version of Latewood, which upgrades it."
    case .tooNew: "Open it with the version of Latewood that wrote it, or a newer one."
    case .badDocumentID:
      "Use 1 to 8,000 bytes of UTF-8 without control characters, not starting with an underscore."
    case .invalidJSON: "Correct the text at that position; a document is one JSON object."
    case .wrongKey: "Use the key that the database was encrypted with. Nothing was changed."
    case .keyNeeded: "Open it with its key: set `encryptionKey`."
    case .notEncrypted:
      "Open it without a key; `changeEncryptionKey(to:)` encrypts it. Nothing was changed."
    case .rolledBack:
      "Find out who replaced the file. To accept its state, open it without `expectedAnchor`. Nothing was changed."
    case .notUnique: "Give one of the two documents other values, or create the index without `unique`."
    }
  }
}

extension DatabaseError {
  /// Creates an error about the caller's JSON text.
  package init(inText error: FleeceError) {
    self.init(.invalidJSON, error.reason)
    offset = error.offset
    line = error.line
    column = error.column
  }

  /// Creates an error about the bytes of a body.
  package init(inBody error: FleeceError) {
    switch error.kind {
    case .damaged, .notFinite, .tooDeep, .tooLarge, .invalidJSON:
      self.init(.corruptRevisionData, error.reason)
    case .misuse, .interrupted: self.init(.inputOutput, error.reason)
    }
    offset = error.offset
  }

  /// Creates an error about a value that was to be stored.
  package init(inValue error: FleeceError) {
    self.init(error.kind == .damaged ? .corruptRevisionData : .invalidParameter, error.reason)
  }
}

extension DatabaseError: CustomStringConvertible {
  /// The path, message, location, advice and code in one line.
  public var description: String { "\(summary) \(advice) [\(code.rawValue)]" }

  /// The path, message and location, as a sentence.
  package var summary: String {
    var text = path.map { "\($0): " } ?? ""
    text += message
    if let line, let column {
      text += " (line \(line), column \(column))"
    } else if let offset {
      text += " (at byte \(offset))"
    }
    return text.hasSuffix(".") ? text : text + "."
  }
}
