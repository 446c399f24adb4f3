import LatewoodBytes
import LatewoodFile

extension Engine {
  var isEncrypted: Bool { currentFile.file.isEncrypted }

  /// Encrypts the file, decrypts it, or changes the key that it is opened with.
  ///
  /// ```
  /// encrypted, another key     the key of the file is encrypted again: two checkpoints and slots
  /// a new key of the file      a compaction into a file with another key,
  /// plain -> encrypted         or into an encrypted one,
  /// encrypted -> plain         or into a plain one
  /// ```
  ///
  /// After a crash at any moment, the file is the old one or the new one. In the first case,
  /// both keys may open it. Waits for a running compaction, copy or backup.
  ///
  /// Throws `readOnly`, `closed`, `wrongKey` if the key cannot open any file, and the errors of a
  /// checkpoint or a compaction.
  ///
  /// - Parameters:
  ///   - encryption: the new key; nil to decrypt the file.
  ///   - renewingFileKey: whether to encrypt an encrypted file again, with a new key of the file.
  func changeEncryptionKey(to encryption: NewEncryption?, renewingFileKey: Bool) throws(StorageError) {
    try checkOpen()
    try refuseInsideCompaction("a change of the key was requested")
    if isReadOnly { throw StorageError(.readOnly, "the store was opened read-only") }
    let file = currentFile.file
    if encryption == nil, !file.isEncrypted { return }
    if let encryption, file.isEncrypted, !renewingFileKey { return try changeWrap(encryption) }
    var encryption = encryption
    if let suite = file.header.suite { encryption?.suite = suite }
    _ = try rewrite(encryption: .changed(encryption))
  }

  /// Returns an anchor of the newest state: see `Checkpointer.anchor`. Waits for a running
  /// compaction, copy or backup.
  ///
  /// Throws `notEncrypted`, `readOnly`, `closed`, and the errors of a checkpoint.
  func anchor() throws(StorageError) -> StateAnchor {
    try checkOpen()
    try refuseInsideCompaction("an anchor was requested")
    if isReadOnly { throw StorageError(.readOnly, "the store was opened read-only") }
    // A compaction has begun with the anchors of its file.
    _ = try compaction.begin(joins: false, unless: { false })
    defer { compaction.end(.failure(CompactionControl.cancelled)) }
    return try checkpointer.anchor()
  }

  /// The anchors that the file remembers, oldest first.
  var anchors: [StateAnchor] { head.withMaintenance { currentFile.fileForWriter.writer.anchors.anchors } }

  /// Throws `rolledBack` if the state does not descend from an anchor; `notEncrypted`.
  func check(_ expected: StateAnchor?) throws(StorageError) {
    guard let expected else { return }
    guard isEncrypted else { throw StateAnchor.needsEncryption }
    let (anchors, newest) = head.withMaintenance {
      (currentFile.fileForWriter.writer.anchors.anchors, head.newest.transaction)
    }
    guard anchors.contains(expected) else { throw expected.refusal(newest: newest) }
  }

  private func changeWrap(_ encryption: NewEncryption) throws(StorageError) {
    // A compaction would put the old key into the new file.
    _ = try compaction.begin(joins: false, unless: { false })
    defer { compaction.end(.failure(CompactionControl.cancelled)) }
    try checkpointer.changeKey(encryption)
  }
}
