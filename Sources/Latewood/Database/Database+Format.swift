import LatewoodDocuments

extension Database {
  /// The format of the documents. Stored in the file.
  ///
  /// - Throws: ``DatabaseError`` like every read.
  public var documentFormat: DocumentFormat {
    get throws { try documents.format() }
  }

  /// Upgrades the documents to the newest format, in one small transaction. After that, releases
  /// that do not know the format refuse the file: they throw ``DatabaseError/Code/tooNew``.
  ///
  /// The upgrade does not rewrite stored documents; only later changes are stored in the new form.
  /// Revisions keep their identifiers. The two formats name revisions differently, so upgrade all
  /// replicas of a database together: the same edit, made in replicas of different formats, is a
  /// conflict.
  ///
  /// Blocks the thread for one commit. Call it outside a batch, or as the only change in a batch.
  ///
  /// - Returns: false if the documents were already in the newest format.
  /// - Throws: ``DatabaseError`` like every change.
  @discardableResult
  public func upgradeDocumentFormat() throws -> Bool { try documents.upgradeFormat() }
}
