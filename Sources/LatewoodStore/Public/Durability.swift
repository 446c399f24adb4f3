/// The guarantee of a commit when its call returns.
public enum Durability: Sendable, Equatable {
  /// The transaction survives a power cut when the call returns, and so does everything committed
  /// before it, even if it did not change anything itself. Costs one sync, shared with transactions
  /// that commit at the same time.
  case synchronous
  /// The transaction survives a crash of the process when the call returns. A power cut may lose
  /// the newest transactions: always a suffix of the commits, never one from the middle.
  case relaxed
}
