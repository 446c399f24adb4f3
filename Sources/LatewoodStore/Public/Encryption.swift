import LatewoodBytes
import LatewoodFile

/// The key that opens an encrypted file: a password, or 32 random bytes. See
/// ``Store/Options/encryptionKey``.
public typealias EncryptionKey = LatewoodFile.EncryptionKey

/// How a key is derived from a password: see ``EncryptionKey``.
public typealias PasswordDerivation = LatewoodFile.PasswordDerivation

/// The ciphers of an encrypted file: see ``Store/Options/cipherSuite``.
public typealias CipherSuite = LatewoodFile.CipherSuite

/// A state of an encrypted file, by which a later open recognizes an older copy: see
/// ``Store/anchor()``.
public typealias StateAnchor = LatewoodFile.StateAnchor

extension Store {
  /// Whether the file is encrypted.
  public var isEncrypted: Bool { engine.isEncrypted }

  /// Encrypts the file, decrypts it, or changes the key that opens it. Reads and writes continue
  /// in the meantime, and snapshots stay valid.
  ///
  /// | file | key | this |
  /// | --- | --- | --- |
  /// | not encrypted | a key | encrypts the file, which is written again by a compaction |
  /// | encrypted | another key | changes the key or password: two checkpoints |
  /// | encrypted | another key, with `renewingFileKey` | also encrypts it again: a compaction |
  /// | encrypted | nil | decrypts the file by a compaction |
  ///
  /// When this returns, the change is durable, and only the new key opens the file. After a crash
  /// before that, the file opens with the old key or with the new one, and all commits are in it.
  /// If this throws and the store can still write, the old key remains the key of the file; after
  /// `inputOutput`, it may be either, so keep both.
  ///
  /// **Older copies do not change.** Backups and copies that were made before still open with the
  /// old key, and if the file was not encrypted, they are not, and neither are the blocks of the
  /// old file that the file system has not overwritten yet. A change of the password protects from
  /// somebody who learned the old one but has no copy of the file. Use `renewingFileKey` if
  /// somebody may have both, or may have read the memory of a process that had the file open; also
  /// on a copy that somebody else gets, because it has the file key of its original.
  ///
  /// **Do not resume an image of the memory twice.** If a process has an encrypted store open for
  /// writing, and a snapshot of its virtual machine or a checkpoint of the process is resumed more
  /// than once, both runs encrypt with the same nonces, which reveals their plaintext.
  ///
  /// The next backup is a full one if the file was written again; it needs another path. Read-only
  /// stores of the file in other processes then have to be opened again: their
  /// ``refresh()`` throws `keyNeeded`, `wrongKey` or `notEncrypted`.
  ///
  /// Waits for a running compaction, copy or backup. O(changes x log n) to change only the key,
  /// else O(live bytes).
  ///
  /// - Parameters:
  ///   - key: the new key; nil to decrypt the file.
  ///   - renewingFileKey: whether to encrypt a file again that is encrypted. Default: false.
  /// - Throws: ``StoreError`` `wrongKey` if a raw key does not have 32 bytes; `readOnly`, `closed`;
  ///   `invalidRange` inside the closure of a transaction or of a compaction; the errors of
  ///   ``checkpoint()`` and of a compaction.
  public func changeEncryptionKey(to key: EncryptionKey?, renewingFileKey: Bool = false) throws {
    try changeEncryption(
      to: key.map { NewEncryption($0, suite: engine.options.cipherSuite) }, renewingFileKey: renewingFileKey)
  }

  /// Changes the key, with a derivation other than the default.
  package func changeEncryption(
    to encryption: NewEncryption?, renewingFileKey: Bool = false
  ) throws(StoreError) {
    do throws(StorageError) {
      try engine.changeEncryptionKey(to: encryption, renewingFileKey: renewingFileKey)
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  /// Returns an anchor of the newest commit. Keep it outside of the file, where nobody who can
  /// replace the file can change it; an open with it as ``Options/expectedAnchor`` then refuses an
  /// older copy of the file, and every other file that does not descend from this state.
  ///
  /// The anchor is a random number that the file remembers in its newest checkpoint, which is
  /// encrypted and authenticated like the rest. A file remembers the last 32 anchors, also through
  /// compactions, changes of the key and backups; a copy or a decrypted file has none.
  ///
  /// When this returns, the state is durable, so that a power cut does not bring back an older one.
  /// Commits that other threads make in the meantime may not be in it. O(changes x log n), and
  /// about five syncs; without changes since the last anchor, it returns that one.
  ///
  /// Waits for a running compaction, copy or backup.
  ///
  /// - Throws: ``StoreError`` `notEncrypted` if the file is not encrypted, because everybody who
  ///   can write to it could forge its anchors; `readOnly`, `closed`; `invalidRange` inside the
  ///   closure of a transaction or of a compaction; the errors of ``checkpoint()``.
  public func anchor() throws -> StateAnchor {
    do throws(StorageError) { return try engine.anchor() } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  /// The anchors that the file remembers, oldest first.
  package var anchors: [StateAnchor] { engine.anchors }

  /// Checks that the state descends from an anchor, as an open does.
  package func check(_ expected: StateAnchor?) throws(StoreError) {
    do throws(StorageError) { try engine.check(expected) } catch {
      throw StoreError(error, path: engine.path)
    }
  }

  /// The key with which this process can open the file again, and its copies; nil if it is not
  /// encrypted.
  package var fileKey: EncryptionKey? { engine.currentFile.file.fileKey }

  /// Checks that a caller's key opens the file. Takes as long as opening it.
  package func check(_ key: EncryptionKey?) throws(StoreError) {
    do throws(StorageError) { try engine.currentFile.file.check(key) } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
