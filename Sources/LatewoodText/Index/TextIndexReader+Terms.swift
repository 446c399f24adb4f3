/// A term of an index, and the number of documents that have it.
package struct TextTerm: Equatable, Sendable {
  package var term: [UInt8]
  package var documentCount: Int

  package init(term: [UInt8], documentCount: Int) {
    self.term = term
    self.documentCount = documentCount
  }

  /// Whether a term is in more documents than another, or in as many and before it in the order of
  /// bytes.
  fileprivate func isBefore(_ other: TextTerm) -> Bool {
    documentCount != other.documentCount
      ? documentCount > other.documentCount : term.lexicographicallyPrecedes(other.term)
  }
}

/// A term that is spelled like a word.
package struct TextSuggestion: Equatable, Sendable {
  package var term: TextTerm
  /// The number of letters that differ.
  package var distance: Int
}

/// Terms, without their documents.
///
/// Terms are stems if the index has a language. An index for completions and suggestions that are
/// shown to people should have none.
extension TextIndexReader {
  /// Returns in how many documents a term is, and how often in all of them.
  package func frequencies(of term: [UInt8]) throws -> (documents: Int, occurrences: Int) {
    let counts = try IndexedTerm(term, in: self, withPlaces: false).counts
    return (counts.documents, counts.occurrences)
  }

  /// Returns terms that begin with a prefix, the most frequent first.
  ///
  /// Reads the entries of all terms with the prefix.
  package func completions(of prefix: [UInt8], limit: Int) throws -> [TextTerm] {
    var best: [TextTerm] = []
    guard limit > 0 else { return best }
    try forEachTermCount(from: prefix) { (term, count) in
      guard term.starts(with: prefix) else { return false }
      let count = try count()
      // Terms arrive in the order of bytes.
      if best.count == limit, count <= best[limit - 1].documentCount { return true }
      let new = TextTerm(term: term, documentCount: count)
      if best.count == limit { best.removeLast() }
      best.insert(new, at: best.firstIndex { new.isBefore($0) } ?? best.count)
      return true
    }
    return best
  }

  /// Returns terms that are spelled like a word: the most similar first, then the most frequent.
  ///
  /// The distance counts scalars that are inserted, removed, replaced, or exchanged with their
  /// neighbour. The word itself is not among the results. Takes time in proportion to the terms
  /// whose beginnings are that similar, and skips all others.
  ///
  /// - Parameter distance: the maximum distance; 1 or 2 for mistakes in typing.
  package func suggestions(for word: [UInt8], distance: Int, limit: Int) throws -> [TextSuggestion] {
    var found: [TextSuggestion] = []
    guard limit > 0, distance > 0 else { return [] }
    var spelling = SpellingDistance(word, limit: distance)
    var start: [UInt8]? = []
    while let from = start {
      start = nil
      try forEachTermCount(from: from) { (term, count) in
        switch spelling.distance(to: term) {
        case .within(0), .beyond(prefix: nil): return true
        case .within(let distance):
          found.append(
            TextSuggestion(term: TextTerm(term: term, documentCount: try count()), distance: distance))
          return true
        case .beyond(let prefix?):
          // No byte of UTF-8 is FF, so this is after all terms with the prefix.
          let next = prefix + [0xFF]
          guard term.lexicographicallyPrecedes(next) else { return true }
          start = next
          return false
        }
      }
    }
    found.sort {
      $0.distance != $1.distance ? $0.distance < $1.distance : $0.term.isBefore($1.term)
    }
    return Array(found.prefix(limit))
  }
}

/// The distances of a word from terms in the order of bytes, by dynamic programming.
///
/// Each row is about one scalar of a term, so the rows of a beginning that two terms have in common
/// are computed only once.
struct SpellingDistance {
  private let word: [UInt32]
  private let limit: Int
  /// The scalars of the current term that have rows.
  private var scalars: [UInt32] = []
  /// `rows[n][m]` is the distance of the first `n` scalars of the term from the first `m` of the
  /// word.
  private var rows: [[Int]]

  init(_ word: [UInt8], limit: Int) {
    self.word = String(decoding: word, as: UTF8.self).unicodeScalars.map(\.value)
    self.limit = limit
    rows = [Array(0...self.word.count)]
  }

  enum Result: Equatable {
    case within(Int)
    /// More than the limit, and so are all terms with the prefix, if there is one.
    case beyond(prefix: [UInt8]?)
  }

  mutating func distance(to term: [UInt8]) -> Result {
    var index = 0
    var length = 0
    for scalar in String(decoding: term, as: UTF8.self).unicodeScalars {
      length += UTF8.width(scalar)
      if index == scalars.count || scalars[index] != scalar.value {
        scalars.removeSubrange(index...)
        rows.removeSubrange((index + 1)...)
        addRow(scalar.value)
      }
      index += 1
      // An exchange of neighbours looks two rows back, but cannot be less than the least of the row
      // between.
      if rows[index].min() ?? 0 > limit { return .beyond(prefix: Array(term.prefix(length))) }
    }
    let distance = rows[index][word.count]
    return distance <= limit ? .within(distance) : .beyond(prefix: nil)
  }

  private mutating func addRow(_ scalar: UInt32) {
    let count = scalars.count
    let above = rows[count]
    var row = [count + 1]
    for column in word.indices {
      var least = min(above[column + 1], row[column]) + 1
      least = min(least, above[column] + (word[column] == scalar ? 0 : 1))
      if column > 0, count > 0, word[column] == scalars[count - 1], word[column - 1] == scalar {
        least = min(least, rows[count - 1][column - 1] + 1)
      }
      row.append(least)
    }
    scalars.append(scalar)
    rows.append(row)
  }
}
