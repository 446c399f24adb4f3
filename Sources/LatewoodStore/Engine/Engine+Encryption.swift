import LatewoodBytes
import LatewoodFile

extension Engine {
  /// Changes the key that an encrypted file is opened with. The file is not encrypted again: copies
  /// and backups that were made before still open with the old key.
  ///
  /// A power cut leaves a file that opens with the old key, the new one, or either. Waits for a
  /// running compaction or backup. Throws `notEncrypted`, `readOnly`, `closed`, and the errors of a
  /// checkpoint.
  func changeEncryptionKey(to encryption: NewEncryption) throws(StorageError) {
    try checkOpen()
    try refuseInsideCompaction("a change of the key was requested")
    if isReadOnly { throw StorageError(.readOnly, "the store was opened read-only") }
    // A compaction would put the old key into the new file.
    _ = try compaction.begin(joins: false, unless: { false })
    defer { compaction.end(.failure(CompactionControl.cancelled)) }
    try checkpointer.changeKey(encryption)
  }
}

extension Store {
  /// Changes the key that an encrypted store is opened with. Copies and backups that were made
  /// before still open with the old key.
  package func changeEncryptionKey(to encryption: NewEncryption) throws(StoreError) {
    do throws(StorageError) {
      try engine.changeEncryptionKey(to: encryption)
    } catch {
      throw StoreError(error, path: engine.path)
    }
  }
}
