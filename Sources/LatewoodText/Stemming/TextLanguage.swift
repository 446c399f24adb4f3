/// A language whose words a full-text index reduces to stems, so that a search for "searching"
/// finds "searches".
package enum TextLanguage: String, CaseIterable, Sendable {
  case english
  /// Martin Porter's algorithm of 1980 for English, as implemented in SQLite's FTS5.
  case porter

  /// The version of all stemmers together, which increases when the stem of any word changes. It is
  /// stored with an index, because it decides which words are the same.
  package static let stemmerVersion = 1

  /// Returns the stem of a word in lower case and without accents. Letters that English does not
  /// have count as consonants.
  package func stem(of word: [UInt32]) -> [UInt32] {
    switch self {
    case .english: EnglishStemmer.stem(word)
    case .porter: PorterStemmer.stem(word)
    }
  }
}
