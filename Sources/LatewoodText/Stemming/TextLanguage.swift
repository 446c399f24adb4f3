/// A language whose words a full-text index reduces to stems, so that a search for "searching"
/// finds "searches".
///
/// Except for ``porter``, the algorithms are those of Snowball 3.1.1, with which all stems agree.
/// For Dutch, that is the algorithm by Kraaij and Pohlmann. The raw values are on disk.
package enum TextLanguage: String, CaseIterable, Sendable {
  case english = "english"
  /// Martin Porter's algorithm of 1980 for English, as implemented in SQLite's FTS5.
  case porter = "porter"
  case dutch = "dutch"
  case french = "french"
  case german = "german"
  case italian = "italian"
  case portuguese = "portuguese"
  case russian = "russian"
  case spanish = "spanish"
  case swedish = "swedish"

  /// The version of all stemmers together, which increases when the stem of any word changes. It is
  /// stored with an index, because it decides which words are the same.
  package static let stemmerVersion = 1

  /// Whether diacritics are folded before words are reduced to stems, rather than after. English
  /// does not need them. In the other languages, the rules tell "é" from "e".
  var isFoldedBeforeStemming: Bool { self == .english || self == .porter }

  /// Returns the stem of a word in lower case. Letters that the language does not have count as
  /// consonants.
  package func stem(of word: [UInt32]) -> [UInt32] {
    switch self {
    case .english: EnglishStemmer.stem(word)
    case .porter: PorterStemmer.stem(word)
    case .dutch: DutchStemmer.stem(LetterComposition.composed(word))
    case .french: FrenchStemmer.stem(LetterComposition.composed(word))
    case .german: GermanStemmer.stem(LetterComposition.composed(word))
    case .italian: ItalianStemmer.stem(LetterComposition.composed(word))
    case .portuguese: PortugueseStemmer.stem(LetterComposition.composed(word))
    case .russian: RussianStemmer.stem(LetterComposition.composed(word))
    case .spanish: SpanishStemmer.stem(LetterComposition.composed(word))
    case .swedish: SwedishStemmer.stem(LetterComposition.composed(word))
    }
  }
}

/// Joins letters and marks to the single scalars that stemmers know: those of Latin-1, "ё" and "й".
private enum LetterComposition {
  private struct Pair: Hashable {
    let letter: UInt32
    let mark: UInt32
  }

  private static let letters: [Pair: UInt32] = {
    var result: [Pair: UInt32] = [:]
    for scalar in Array(0xE0...0xFF) + [0x439, 0x451] as [UInt32] {
      let parts = TextFolding().folded([scalar])
      if parts.count == 2 { result[Pair(letter: parts[0], mark: parts[1])] = scalar }
    }
    return result
  }()

  static func composed(_ word: [UInt32]) -> [UInt32] {
    // Combining diacritical marks.
    guard word.contains(where: { $0 &- 0x300 < 0x70 }) else { return word }
    var result: [UInt32] = []
    result.reserveCapacity(word.count)
    for scalar in word {
      if scalar &- 0x300 < 0x70, let last = result.last,
        let letter = letters[Pair(letter: last, mark: scalar)]
      {
        result[result.count - 1] = letter
      } else {
        result.append(scalar)
      }
    }
    return result
  }
}
