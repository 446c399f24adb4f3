import LatewoodDevice
import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The databases in one directory, by name.
///
/// A name is 1 to 239 bytes of `a-z 0-9 _ $ ( ) + - /`, the first a letter: the rules of Couchbase
/// Lite and CouchDB. A `/` in a name is a `:` in the name of its file, which ends in `.latewood`.
public struct DatabaseDirectory: Sendable {
  /// The path of the directory, which must exist.
  public let path: String
  private static let suffix = ".latewood"

  /// - Parameter path: the path of the directory, which must exist.
  public init(path: String) { self.path = path }

  /// Returns the directory for the data of an application, creating it if there is none. Only the
  /// user can read it.
  ///
  /// On Apple platforms, the directory is `application` in the user's application support
  /// directory; on tvOS, where apps cannot write to that, in the directory for caches, which the
  /// system may empty while the app is not running. Elsewhere it is in `$XDG_DATA_HOME` or, if that
  /// is not set to an absolute path, in `.local/share` of the home directory.
  ///
  /// - Parameter application: the name of the directory, such as a bundle identifier; not empty,
  ///   without slashes, and not starting with a dot.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `inputOutput` if the
  ///   directory cannot be created.
  public static func standard(for application: String) throws -> DatabaseDirectory {
    guard !application.isEmpty, !application.hasPrefix("."), !application.contains("/"),
      !application.utf8.contains(0)
    else {
      throw DatabaseError(
        .invalidParameter, "“\(application)” is not the name of a directory",
        advice: "Use a name such as org.example.survey.")
    }
    let directory = parent.appending(path: application, directoryHint: .isDirectory)
    do {
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw DatabaseError(.inputOutput, "the directory \(directory.path) cannot be created: \(error)")
    }
    return DatabaseDirectory(path: directory.path)
  }

  /// The directory that contains one subdirectory for each application.
  private static var parent: URL {
    #if os(tvOS)
      // The only directory that an app can write to there.
      return URL.cachesDirectory
    #elseif canImport(Darwin)
      return URL.applicationSupportDirectory
    #else
      if let path = CurrentProcess.environmentVariable("XDG_DATA_HOME"), path.hasPrefix("/") {
        return URL(filePath: path, directoryHint: .isDirectory)
      }
      return URL.homeDirectory.appending(path: ".local/share", directoryHint: .isDirectory)
    #endif
  }

  /// Returns the path of a database, whether or not it exists.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid.
  public func path(of name: String) throws -> String {
    try Self.check(name)
    let file = name.utf8.map { $0 == UInt8(ascii: "/") ? UInt8(ascii: ":") : $0 }
    return "\(path)/\(String(decoding: file, as: UTF8.self))\(Self.suffix)"
  }

  /// Opens a database, creating it if there is none.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; the errors of
  ///   `Database.open`.
  public func open(
    _ name: String, configuration: Database.Configuration = Database.Configuration()
  ) throws -> Database {
    try Database.open(at: path(of: name), configuration: configuration)
  }

  /// Opens a database; nil if there is none.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; the errors of
  ///   `Database.open`.
  public func existing(
    _ name: String, configuration: Database.Configuration = Database.Configuration()
  ) throws -> Database? {
    try Database.existing(at: path(of: name), configuration: configuration)
  }

  /// Opens a database, creating it if there is none, without blocking the caller's thread.
  /// Otherwise like the blocking form.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; the errors of
  ///   `Database.open`; `CancellationError` if the task is cancelled before the database is open.
  public func open(
    _ name: String, configuration: Database.Configuration = Database.Configuration()
  ) async throws -> Database {
    try await Database.open(at: path(of: name), configuration: configuration)
  }

  /// Returns whether there is a database with a name.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; `notWritable` or
  ///   `inputOutput` if the system does not report it.
  public func exists(_ name: String) throws -> Bool { try Database.exists(at: path(of: name)) }

  /// Deletes a database. Returns false if there was none.
  ///
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; the errors of
  ///   ``Database/delete(at:)-2jvij``.
  @discardableResult
  public func delete(_ name: String) throws -> Bool { try Database.delete(at: path(of: name)) }

  /// Replaces a closed database with a copy of another one. If no database has the name, the copy
  /// gets it: see ``Database/replace(at:with:)-89x3l``.
  ///
  /// - Parameters:
  ///   - name: the name of the database to replace.
  ///   - source: the path of the database to copy.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; the errors of
  ///   ``Database/replace(at:with:)-89x3l``.
  public func replace(_ name: String, with source: String) throws {
    try Database.replace(at: path(of: name), with: source)
  }

  /// Returns the names of all databases in the directory, sorted.
  ///
  /// - Throws: ``DatabaseError`` `notFound` if the directory does not exist; `notWritable` if this
  ///   user may not read it; `inputOutput`.
  public func names() throws -> [String] {
    let files: [String]
    do { files = try Directories.names(in: path) } catch {
      throw DatabaseError(StoreError(error, path: path))
    }
    return files.filter { $0.hasSuffix(Self.suffix) }.map { Self.name(ofFile: $0) }
      .filter { Self.objection(to: $0) == nil }.sorted()
  }

  // MARK: Without blocking

  /// Opens a database without blocking the caller's thread; nil if there is none.
  ///
  /// - Throws: the errors of the blocking form; `CancellationError` if the task is cancelled before
  ///   the database is open.
  public func existing(
    _ name: String, configuration: Database.Configuration = Database.Configuration()
  ) async throws -> Database? {
    try await Database.existing(at: path(of: name), configuration: configuration)
  }

  /// Returns whether there is a database with a name, without blocking the caller's thread.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public func exists(_ name: String) async throws -> Bool {
    try await Database.exists(at: path(of: name))
  }

  /// Deletes a database without blocking the caller's thread. Otherwise like the blocking form.
  /// Returns false if there was none.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  @discardableResult
  public func delete(_ name: String) async throws -> Bool {
    try await Database.delete(at: path(of: name))
  }

  /// Replaces a closed database with a copy of another one, without blocking the caller's thread.
  /// Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - name: the name of the database to replace.
  ///   - source: the path of the database to copy.
  /// - Throws: like every async call; see ``DatabaseError``.
  public func replace(_ name: String, with source: String) async throws {
    try await Database.replace(at: path(of: name), with: source)
  }

  /// Returns the names of all databases in the directory, sorted, without blocking the caller's
  /// thread.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public func names() async throws -> [String] { try await Database.performing { try names() } }

  /// Returns the name of a database from the name of its file.
  static func name(ofFile file: String) -> String {
    let bytes = file.utf8.dropLast(file.hasSuffix(suffix) ? suffix.utf8.count : 0)
    return String(decoding: bytes.map { $0 == UInt8(ascii: ":") ? UInt8(ascii: "/") : $0 }, as: UTF8.self)
  }

  private static func check(_ name: String) throws(DatabaseError) {
    guard let objection = objection(to: name) else { return }
    throw DatabaseError(
      .invalidParameter, "the database name “\(name)” \(objection)",
      advice: "Use 1 to 239 of the characters a-z, 0-9, _, $, (, ), +, - and /, and start with a letter.")
  }

  private static func objection(to name: String) -> String? {
    let bytes = name.utf8
    guard let first = bytes.first else { return "is empty" }
    if bytes.count >= 240 { return "is \(bytes.count) bytes long" }
    let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
    if !letters.contains(first) { return "does not start with a letter from a to z" }
    let others = Set("0123456789_$()+-/".utf8)
    return bytes.allSatisfy { letters.contains($0) || others.contains($0) } ? nil : "has other characters"
  }
}
