/// How a full-text index makes terms of words.
package struct TextOptions: Hashable, Sendable {
  /// The language of the texts, by which words are reduced to stems; nil to keep words whole.
  package var language: TextLanguage?
  package var folding: TextFolding
  /// Words that are not indexed, such as "the". They are folded as texts are, and compared before
  /// stemming.
  package var stopWords: Set<String>

  package init(
    language: TextLanguage? = nil, folding: TextFolding = .all, stopWords: Set<String> = []
  ) {
    self.language = language
    self.folding = folding
    self.stopWords = stopWords
  }
}

/// An occurrence of a term in a text.
package struct TextToken: Equatable, Sendable {
  /// The term in the index, in UTF-8.
  package var term: [UInt8]
  /// The number of the word in the text.
  package var position: Int
  /// The word in the text, as offsets in UTF-8.
  package var range: Range<Int>
  package var kind: Kind

  package enum Kind: Sendable {
    case word
    /// A word that an index leaves out. It still takes up a position.
    case stopWord
    /// Two neighbouring characters of a script that is written without spaces.
    case pair
    /// The last character of a run in such a script, which does not begin a pair.
    case last
  }
}
