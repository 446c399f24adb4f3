/// The properties of Unicode scalars that the search for words needs.
///
/// The properties in the standard library depend on the version of the system, so an index that one
/// device has written would miss words on another.
package enum UnicodeTables {
  /// The version of the Unicode Character Database. It is stored with an index, because the words
  /// of a text depend on it.
  package static let version = UnicodeData.version

  /// The bits of the ``WordBreakClass`` of each scalar.
  static let wordBreaks = ScalarTable(runs: UnicodeData.wordBreaks)
  static let combiningClasses = ScalarTable(runs: UnicodeData.combiningClasses)
  /// 1 for a mark that folding removes.
  static let diacritics = ScalarTable(runs: UnicodeData.diacritics)
}
