import LatewoodFleece
import LatewoodText

/// A text of a document with the places of found words in it, as offsets in UTF-8.
package struct HighlightedText: Sendable, Equatable {
  package var text: String
  package var highlights: [Range<Int>]
}

/// A part of a text around found words.
package struct TextSnippet: Sendable, Equatable {
  /// The number of the field of the index.
  package var field: Int
  package var text: String
  package var excerpt: TextExcerpt
}

extension TextExcerpt {
  /// Returns the part of a text with marks before and after each found word, and with dots where
  /// the text continues.
  package func marked(in text: String, _ opening: String, _ closing: String, dots: String) -> String {
    let utf8 = Array(text.utf8)
    func part(_ range: Range<Int>) -> String { String(decoding: utf8[range], as: UTF8.self) }
    var result = range.lowerBound == 0 ? "" : dots
    var at = range.lowerBound
    for highlight in highlights {
      result += part(at..<highlight.lowerBound) + opening + part(highlight) + closing
      at = highlight.upperBound
    }
    result += part(at..<range.upperBound)
    return range.upperBound == utf8.count ? result : result + dots
  }
}

extension TextSearch {
  /// Returns the texts of a document in one field, with the words that the query has found.
  package func highlights(
    in document: some FieldSource, field: Int
  ) throws(FleeceError) -> [HighlightedText] {
    let words = try words(of: document)
    let found = TextOccurrences(of: query, in: words.fields.map(\.tokens)).found.joined()
      .filter { $0.field == field }
    return words.fields[field].parts.map { part in
      HighlightedText(text: part.text, highlights: TextExcerpt.highlights(part.inside(found)))
    }
  }

  /// Returns the part of the texts of a document that has the most of the query: the most different
  /// phrases, then the most occurrences, then the first field. Without any, the beginning of the
  /// first text; nil if the document has no text.
  ///
  /// - Parameters:
  ///   - field: the number of the only field to use; nil for all.
  ///   - wordCount: the maximum number of words.
  package func snippet(
    of document: some FieldSource, field: Int?, wordCount: Int
  ) throws(FleeceError) -> TextSnippet? {
    let words = try words(of: document)
    let found = Array(TextOccurrences(of: query, in: words.fields.map(\.tokens)).found.joined())
    var best: (field: Int, part: DocumentWords.Part, found: [TextOccurrences.Occurrence])?
    var bestScore = (-1, -1)
    for number in words.fields.indices where field == nil || field == number {
      let inField = found.filter { $0.field == number }
      for part in words.fields[number].parts {
        let inPart = part.inside(inField)
        let score = (Set(inPart.map(\.phrase)).count, inPart.count)
        if score > bestScore { (best, bestScore) = ((number, part, inPart), score) }
      }
    }
    guard let best else { return nil }
    let tokens = words.fields[best.field].tokens[best.part.tokens].map { token in
      var token = token
      token.range = (token.range.lowerBound - best.part.start)..<(token.range.upperBound - best.part.start)
      return token
    }
    let excerpt = TextExcerpt(of: best.part.text, tokens, best.found, wordCount: wordCount)
    return TextSnippet(field: best.field, text: best.part.text, excerpt: excerpt)
  }
}

extension DocumentWords.Part {
  /// Returns the occurrences in this text, with ranges in the text.
  fileprivate func inside(_ found: some Sequence<TextOccurrences.Occurrence>) -> [TextOccurrences.Occurrence]
  {
    found.compactMap { occurrence in
      guard occurrence.range.lowerBound >= range.lowerBound, occurrence.range.upperBound <= range.upperBound,
        !range.isEmpty
      else { return nil }
      var inside = occurrence
      inside.range = (occurrence.range.lowerBound - start)..<(occurrence.range.upperBound - start)
      return inside
    }
  }
}
