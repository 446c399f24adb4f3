import LatewoodText

/// How a full-text index makes words of texts.
///
/// ```swift
/// try films.createIndex(
///   "by text", fullText: ["title", "plot"], options: FullTextOptions(language: .english))
/// ```
///
/// Words are separated by the rules of Unicode. In scripts that are written without spaces, such as
/// Chinese, Japanese and Thai, pairs of characters take the place of words.
public struct FullTextOptions: Sendable, Hashable {
  /// The language by whose rules words are reduced to stems, so that a search for “searching” finds
  /// “searches”; nil to keep words whole.
  public var language: FullTextLanguage?
  /// Whether upper and lower case are the same.
  public var ignoresCase: Bool
  /// Whether letters with and without accents are the same.
  public var ignoresDiacritics: Bool
  /// Words that are not indexed, such as “the”.
  public var stopWords: Set<String>

  /// Creates options.
  ///
  /// - Parameters:
  ///   - language: the language by whose rules words are reduced to stems; nil to keep words whole.
  ///   - ignoresCase: whether upper and lower case are the same.
  ///   - ignoresDiacritics: whether letters with and without accents are the same.
  ///   - stopWords: words that are not indexed.
  public init(
    language: FullTextLanguage? = nil, ignoresCase: Bool = true, ignoresDiacritics: Bool = true,
    stopWords: Set<String> = []
  ) {
    self.language = language
    self.ignoresCase = ignoresCase
    self.ignoresDiacritics = ignoresDiacritics
    self.stopWords = stopWords
  }

  var textOptions: TextOptions {
    var folding: TextFolding = []
    if ignoresCase { folding.insert(.letterCase) }
    if ignoresDiacritics { folding.insert(.diacritics) }
    return TextOptions(language: language?.language, folding: folding, stopWords: stopWords)
  }
}

/// A language whose words a full-text index reduces to stems.
///
/// Except for ``porter``, the rules are those of Snowball 3.1.1.
public struct FullTextLanguage: Sendable, Hashable {
  let language: TextLanguage

  /// Dutch, by the algorithm of Kraaij and Pohlmann.
  public static let dutch = FullTextLanguage(language: .dutch)
  /// English, by Snowball's algorithm.
  public static let english = FullTextLanguage(language: .english)
  /// French, by Snowball's algorithm.
  public static let french = FullTextLanguage(language: .french)
  /// German, by Snowball's algorithm.
  public static let german = FullTextLanguage(language: .german)
  /// Italian, by Snowball's algorithm.
  public static let italian = FullTextLanguage(language: .italian)
  /// English, by Martin Porter's algorithm of 1980, which SQLite's FTS5 uses.
  public static let porter = FullTextLanguage(language: .porter)
  /// Portuguese, by Snowball's algorithm.
  public static let portuguese = FullTextLanguage(language: .portuguese)
  /// Russian, by Snowball's algorithm.
  public static let russian = FullTextLanguage(language: .russian)
  /// Spanish, by Snowball's algorithm.
  public static let spanish = FullTextLanguage(language: .spanish)
  /// Swedish, by Snowball's algorithm.
  public static let swedish = FullTextLanguage(language: .swedish)
}
