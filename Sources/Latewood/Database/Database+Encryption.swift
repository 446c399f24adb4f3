import LatewoodDocuments
import LatewoodStore

extension Database {
  /// Whether the file is encrypted.
  public var isEncrypted: Bool { documents.isEncrypted }

  /// Encrypts the database, decrypts it, or changes the key that opens it. Reads and writes
  /// continue in the meantime.
  ///
  /// ```swift
  /// try await database.changeEncryptionKey(to: .password("correct horse battery staple"))
  /// ```
  ///
  /// - A database that is not encrypted is encrypted, and one whose new key is nil decrypted, by a
  ///   compaction: the file is written again.
  /// - Otherwise only the key or password changes, which is quick: the file is encrypted with a key
  ///   of its own, and only that one is encrypted again.
  /// - With `renewingFileKey`, an encrypted database is also encrypted again with a new key of its
  ///   own, by a compaction. That is needed if somebody may know the old password and have a copy
  ///   of the file.
  ///
  /// When this returns, the change is durable, and only the new key opens the file. After a crash
  /// before that, the file opens with the old key or with the new one, and all commits are in it.
  /// If this throws and the database can still be written to, the old key remains the key of the
  /// file; after `inputOutput`, it may be either, so keep both.
  /// Backups and copies that were made before do not change. See <doc:EncryptingADatabase>.
  ///
  /// - Parameters:
  ///   - key: the new key; nil to decrypt the database.
  ///   - renewingFileKey: whether to encrypt again a database that is encrypted. Default: false.
  /// - Throws: ``DatabaseError`` `wrongKey` if a raw key does not have 32 bytes; `notWritable` if
  ///   the database was opened read-only; `invalidParameter` inside a batch; the errors of a
  ///   compaction.
  public func changeEncryptionKey(to key: EncryptionKey?, renewingFileKey: Bool = false) throws {
    try documents.changeEncryptionKey(to: key, renewingFileKey: renewingFileKey)
  }

  /// Encrypts the database, decrypts it, or changes the key that opens it, without blocking the
  /// caller's thread. Otherwise like the blocking form. A change that has begun continues when the
  /// task is cancelled.
  ///
  /// - Parameters:
  ///   - key: the new key; nil to decrypt the database.
  ///   - renewingFileKey: whether to encrypt again a database that is encrypted. Default: false.
  /// - Throws: like every async call; see ``DatabaseError``.
  public func changeEncryptionKey(to key: EncryptionKey?, renewingFileKey: Bool = false) async throws {
    try await performing { try self.changeEncryptionKey(to: key, renewingFileKey: renewingFileKey) }
  }

  /// Returns an anchor of the newest state. Keep it outside of the database, where nobody who can
  /// replace the file can change it; an open with it as ``Configuration/expectedAnchor`` then
  /// refuses an older copy of the file.
  ///
  /// When this returns, everything saved before the call is durable. The database remembers its
  /// last 32 anchors. Costs about five syncs, unless nothing has changed since the last anchor. See
  /// <doc:EncryptingADatabase>.
  ///
  /// - Throws: ``DatabaseError`` `notEncrypted` if the database is not encrypted;
  ///   `invalidParameter` inside a batch; the errors of a change.
  public func anchor() throws -> StateAnchor { try documents.anchor() }

  /// Returns an anchor of the newest state, without blocking the caller's thread. Otherwise like
  /// the blocking form.
  ///
  /// - Throws: like every async call; see ``DatabaseError``.
  public func anchor() async throws -> StateAnchor {
    try await performing { try self.anchor() }
  }

  // MARK: Without blocking

  /// Installs a prebuilt database that is encrypted, without blocking the caller's thread.
  /// Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - source: the path of the database to copy.
  ///   - target: the path of the new database.
  ///   - encryptionKey: the key of the database to copy; nil if it is not encrypted.
  /// - Throws: like every async call; see ``DatabaseError``.
  public static func copy(
    from source: String, to target: String, encryptionKey: EncryptionKey?
  ) async throws {
    try await performing { try copy(from: source, to: target, encryptionKey: encryptionKey) }
  }

  /// Replaces a closed database with a copy of an encrypted one, without blocking the
  /// caller's thread. Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - path: the path of the database to replace.
  ///   - source: the path of the database to copy.
  ///   - encryptionKey: the key of the database to copy; nil if it is not encrypted.
  /// - Throws: like every async call; see ``DatabaseError``.
  public static func replace(
    at path: String, with source: String, encryptionKey: EncryptionKey?
  ) async throws {
    try await performing { try replace(at: path, with: source, encryptionKey: encryptionKey) }
  }
}

extension DatabaseDirectory {
  /// Replaces a closed database with a copy of an encrypted one: see
  /// `Database.replace`.
  ///
  /// - Parameters:
  ///   - name: the name of the database to replace.
  ///   - source: the path of the database to copy.
  ///   - encryptionKey: the key of the database to copy; nil if it is not encrypted.
  /// - Throws: ``DatabaseError`` `invalidParameter` if the name is not valid; the errors of
  ///   `Database.replace`.
  public func replace(_ name: String, with source: String, encryptionKey: EncryptionKey?) throws {
    try Database.replace(at: path(of: name), with: source, encryptionKey: encryptionKey)
  }

  /// Replaces a closed database with a copy of an encrypted one, without blocking the
  /// caller's thread. Otherwise like the blocking form.
  ///
  /// - Parameters:
  ///   - name: the name of the database to replace.
  ///   - source: the path of the database to copy.
  ///   - encryptionKey: the key of the database to copy; nil if it is not encrypted.
  /// - Throws: like every async call; see ``DatabaseError``.
  public func replace(_ name: String, with source: String, encryptionKey: EncryptionKey?) async throws {
    try await Database.replace(at: path(of: name), with: source, encryptionKey: encryptionKey)
  }
}
