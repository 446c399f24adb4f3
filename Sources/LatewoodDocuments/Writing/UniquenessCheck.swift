/// The time at which a batch checks unique indexes.
///
/// Revisions from another replica are never refused.
public enum UniquenessCheck: Sendable, Equatable {
  /// Each save is checked when it is made, and refused if another document has the same values.
  /// This is the default.
  case atEachSave
  /// The batch is checked as a whole, when its closure has returned, so documents can exchange
  /// their values in it. Memory grows with the number of values that are saved.
  case atEnd
}
