/// What the search for words knows of Unicode, from tables of its own.
///
/// The standard library has properties of scalars too, but of a version that depends on the system:
/// an index that one device has written would miss words on another.
package enum UnicodeTables {
  /// The version of the Unicode Character Database. Which words a text has depends on it, so it is
  /// stored with an index.
  package static let version = UnicodeData.version

  /// For each scalar the bits of its ``WordBreakClass``.
  static let wordBreaks = ScalarTable(runs: UnicodeData.wordBreaks)
  static let combiningClasses = ScalarTable(runs: UnicodeData.combiningClasses)
  /// 1 for a mark that folding removes.
  static let diacritics = ScalarTable(runs: UnicodeData.diacritics)
}
