import struct LatewoodDocuments.RevisionID

extension RevisionID {
  /// The revision of a document that a test makes up: `1-ab`.
  static let first: RevisionID? = {
    do { return try RevisionID("1-ab") } catch { return nil }
  }()
}
