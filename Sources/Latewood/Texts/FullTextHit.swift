import LatewoodDocuments
import LatewoodFleece
import LatewoodQuery
import LatewoodText

/// A document that a ranked query has found, with its score and the places of the words.
public struct FullTextHit<Value: Sendable>: Sendable {
  /// The document.
  public let value: Value
  /// The id of the document.
  public let documentID: String
  /// The score, by BM25: higher is better. It can only be compared with other scores of the same
  /// run, or of the same update of a live query.
  public let score: Double
  private let search: TextSearch
  private let body: FleeceBody

  init(_ value: Value, _ document: MatchedDocument, _ score: Double, _ search: TextSearch) {
    self.value = value
    documentID = document.id
    self.score = score
    self.search = search
    body = FleeceBody(document.bytes)
  }

  /// Creates a hit of the same document with another score.
  init(_ known: FullTextHit, _ score: Double, _ search: TextSearch) {
    (value, documentID, body) = (known.value, known.documentID, known.body)
    self.score = score
    self.search = search
  }

  /// Returns the texts of a field with the found words in them; an empty list if the index does not
  /// have the field, or the document no text in it.
  ///
  /// - Parameter field: the name of the field, such as `title` or `chapters[].title`.
  /// - Throws: ``DatabaseError`` `corruptData` if the document is damaged.
  public func highlights(in field: String) throws -> [FullTextExcerpt] {
    guard let number = search.definition.names.firstIndex(of: field) else { return [] }
    return try reading { (root) throws(FleeceError) in
      try search.highlights(in: root, field: number).map { found in
        FullTextExcerpt(field: field, found.text, 0..<found.text.utf8.count, found.highlights)
      }
    }
  }

  /// Returns the part of the texts that has the most of the query, such as for a list of results;
  /// nil if the document has no text.
  ///
  /// ```swift
  /// for hit in try await films.query(Film.self)
  ///   .where({ $0.matches("by text", "blue sky") }).ranked().limit(20).hits()
  /// {
  ///   print(hit.value.title, try hit.snippet()?.marked("*", "*") ?? "")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - field: the name of the only field to use; nil for all.
  ///   - words: the maximum number of words.
  /// - Throws: ``DatabaseError`` `corruptData` if the document is damaged.
  public func snippet(in field: String? = nil, words: Int = 24) throws -> FullTextExcerpt? {
    let number = field.map { search.definition.names.firstIndex(of: $0) }
    if case .some(.none) = number { return nil }
    let names = search.definition.names
    return try reading { (root) throws(FleeceError) in
      try search.snippet(of: root, field: number ?? nil, wordCount: words).map { found in
        FullTextExcerpt(
          field: names[found.field], found.text, found.excerpt.range, found.excerpt.highlights)
      }
    }
  }

  private func reading<Result>(
    _ read: (FleeceValue) throws(FleeceError) -> Result
  ) throws -> Result {
    do throws(FleeceError) { return try body.withRoot(read) } catch { throw DatabaseError(inBody: error) }
  }
}

/// A text, or a part of it, with the places of found words.
public struct FullTextExcerpt: Sendable, Equatable {
  /// The name of the field.
  public let field: String
  /// The original text in the document.
  public let text: String
  /// The part of the text.
  public let range: Range<String.Index>
  /// The found words in that part, in order and apart from each other.
  public let highlights: [Range<String.Index>]
  private let bytes: TextExcerpt

  init(field: String, _ text: String, _ range: Range<Int>, _ highlights: [Range<Int>]) {
    func indices(_ range: Range<Int>) -> Range<String.Index> {
      let start = text.utf8.index(text.startIndex, offsetBy: range.lowerBound)
      return start..<text.utf8.index(start, offsetBy: range.count)
    }
    self.field = field
    self.text = text
    bytes = TextExcerpt(range: range, highlights: highlights)
    self.range = indices(range)
    self.highlights = highlights.map(indices)
  }

  /// The part of the text, without marks.
  public var excerpt: Substring { text[range] }

  /// Returns the part of the text with marks before and after each found word, and with dots where
  /// the text continues.
  ///
  /// - Parameters:
  ///   - opening: the mark before a word.
  ///   - closing: the mark after a word.
  ///   - dots: the text for a part that is left out.
  public func marked(_ opening: String, _ closing: String, dots: String = "…") -> String {
    bytes.marked(in: text, opening, closing, dots: dots)
  }
}
