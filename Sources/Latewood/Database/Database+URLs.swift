import LatewoodStore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// The calls that take a path, with the `URL` of a file instead. Each is the same as the call with
/// the path of that file, and throws ``DatabaseError`` `invalidParameter` for another kind of URL.
extension Database {
  /// Opens a database, creating it if there is none.
  ///
  /// - Throws: the errors of the form with a path.
  public static func open(
    at file: URL, mode: OpenMode = .openOrCreate, configuration: Configuration = Configuration()
  ) throws -> Database {
    try open(at: file.databasePath, mode: mode, configuration: configuration)
  }

  /// Opens a database without blocking the caller's thread, creating it if there is none.
  ///
  /// - Throws: the errors of the form with a path.
  public static func open(
    at file: URL, mode: OpenMode = .openOrCreate, configuration: Configuration = Configuration()
  ) async throws -> Database {
    try await open(at: file.databasePath, mode: mode, configuration: configuration)
  }

  /// Opens a database; nil if there is none.
  ///
  /// - Throws: the errors of the form with a path.
  public static func existing(
    at file: URL, configuration: Configuration = Configuration()
  ) throws -> Database? {
    try existing(at: file.databasePath, configuration: configuration)
  }

  /// Opens a database without blocking the caller's thread; nil if there is none.
  ///
  /// - Throws: the errors of the form with a path.
  public static func existing(
    at file: URL, configuration: Configuration = Configuration()
  ) async throws -> Database? {
    try await existing(at: file.databasePath, configuration: configuration)
  }

  /// Returns whether there is a file.
  ///
  /// - Throws: the errors of the form with a path.
  public static func exists(at file: URL) throws -> Bool {
    try exists(at: file.databasePath)
  }

  /// Returns whether there is a file, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the form with a path.
  public static func exists(at file: URL) async throws -> Bool {
    try await exists(at: file.databasePath)
  }

  /// Deletes a database that is not open for writing. Returns false if there was none.
  ///
  /// - Throws: the errors of the form with a path.
  @discardableResult
  public static func delete(at file: URL) throws -> Bool {
    try delete(at: file.databasePath)
  }

  /// Deletes a database that is not open for writing, without blocking the caller's thread. Returns
  /// false if there was none.
  ///
  /// - Throws: the errors of the form with a path.
  @discardableResult
  public static func delete(at file: URL) async throws -> Bool {
    try await delete(at: file.databasePath)
  }

  /// Installs a prebuilt database.
  ///
  /// - Throws: the errors of the form with a path.
  public static func copy(from source: URL, to target: URL) throws {
    try copy(from: source.databasePath, to: target.databasePath)
  }

  /// Installs a prebuilt database, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the form with a path.
  public static func copy(from source: URL, to target: URL) async throws {
    try await copy(from: source.databasePath, to: target.databasePath)
  }

  /// Replaces a closed database with a copy of another one.
  ///
  /// - Throws: the errors of the form with a path.
  public static func replace(at file: URL, with source: URL) throws {
    try replace(at: file.databasePath, with: source.databasePath)
  }

  /// Replaces a closed database with a copy of another one, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the form with a path.
  public static func replace(at file: URL, with source: URL) async throws {
    try await replace(at: file.databasePath, with: source.databasePath)
  }

  /// Installs a prebuilt database that is encrypted.
  ///
  /// - Throws: the errors of the form with a path.
  public static func copy(
    from source: URL, to target: URL, encryptionKey: EncryptionKey?
  ) throws {
    try copy(from: source.databasePath, to: target.databasePath, encryptionKey: encryptionKey)
  }

  /// Installs a prebuilt database that is encrypted, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the form with a path.
  public static func copy(
    from source: URL, to target: URL, encryptionKey: EncryptionKey?
  ) async throws {
    try await copy(from: source.databasePath, to: target.databasePath, encryptionKey: encryptionKey)
  }

  /// Replaces a closed database with a copy of an encrypted one.
  ///
  /// - Throws: the errors of the form with a path.
  public static func replace(
    at file: URL, with source: URL, encryptionKey: EncryptionKey?
  ) throws {
    try replace(at: file.databasePath, with: source.databasePath, encryptionKey: encryptionKey)
  }

  /// Replaces a closed database with a copy of an encrypted one, without blocking the caller's
  /// thread.
  ///
  /// - Throws: the errors of the form with a path.
  public static func replace(
    at file: URL, with source: URL, encryptionKey: EncryptionKey?
  ) async throws {
    try await replace(at: file.databasePath, with: source.databasePath, encryptionKey: encryptionKey)
  }

  /// Creates or updates a backup.
  ///
  /// - Throws: the errors of the form with a path.
  @discardableResult
  public func backup(
    to file: URL, bytesPerSecond: UInt64? = nil, progress: ((BackupProgress) -> Void)? = nil
  ) throws -> BackupReport {
    try backup(to: file.databasePath, bytesPerSecond: bytesPerSecond, progress: progress)
  }

  /// Creates or updates a backup, without blocking the caller's thread.
  ///
  /// - Throws: the errors of the form with a path.
  @discardableResult
  public func backup(
    to file: URL, bytesPerSecond: UInt64? = nil, progress: (@Sendable (BackupProgress) -> Void)? = nil
  ) async throws -> BackupReport {
    try await backup(to: file.databasePath, bytesPerSecond: bytesPerSecond, progress: progress)
  }
}

extension DatabaseDirectory {
  /// - Parameter url: the `URL` of the directory, which must exist.
  /// - Throws: ``DatabaseError`` `invalidParameter` if it is not the URL of a file.
  public init(url: URL) throws { self.init(path: try url.databasePath) }
}

extension URL {
  /// The path of the file.
  fileprivate var databasePath: String {
    get throws(DatabaseError) {
      guard isFileURL else {
        throw DatabaseError(
          .invalidParameter, "\(absoluteString) is not the URL of a file",
          advice: "Use a URL that begins with file: or one made by URL(filePath:).")
      }
      let path = path(percentEncoded: false)
      return path.count > 1 && path.hasSuffix("/") ? String(path.dropLast()) : path
    }
  }
}
