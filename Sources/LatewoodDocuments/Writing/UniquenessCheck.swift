/// The time at which a batch checks unique indexes.
package enum UniquenessCheck: Sendable, Equatable {
  /// Each save is checked, and refused if another document has the same values.
  case atEachSave
  /// The batch is checked at its end, so that documents can exchange their values in it.
  case atEnd
}
