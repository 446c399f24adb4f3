/// One revision of a document, without its content.
public struct Revision: Sendable, Hashable, Identifiable {
  /// The revision id, `generation-digest`.
  public let id: String
  /// The parent revision; nil if it is unknown or no longer kept.
  public let parentID: String?
  /// Whether the revision has no children. A document with several leaves that are not deletions is
  /// in conflict.
  public let isLeaf: Bool
  /// Whether this revision deletes the document.
  public let isDeleted: Bool
}
