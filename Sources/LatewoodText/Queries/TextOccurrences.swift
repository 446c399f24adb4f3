/// The occurrences of the phrases of a query in one document.
package struct TextOccurrences {
  /// An occurrence of a phrase.
  package struct Occurrence: Equatable, Sendable {
    package var phrase: Int
    package var field: Int
    /// The position of its first term.
    package var position: Int
    /// Its words in the text of the field, as offsets in UTF-8.
    package var range: Range<Int>
  }

  private let query: BoundTextQuery
  /// The occurrences of each phrase in the parts of the query that the document meets.
  package private(set) var found: [[Occurrence]]
  /// Whether the document meets the query.
  package private(set) var isMatch = false

  /// Looks for a query in the tokens of fields.
  package init(of query: BoundTextQuery, in fields: [[TextToken]]) {
    self.query = query
    found = Array(repeating: [], count: query.phrases.count)
    guard let root = query.root else { return }
    var all: [[Occurrence]] = Array(repeating: [], count: query.phrases.count)
    for (field, tokens) in fields.enumerated() {
      let tokens = tokens.filter { $0.kind != .stopWord }
      let places = TextOccurrences.places(of: tokens)
      for (number, phrase) in query.phrases.enumerated() where phrase.fields?.contains(field) != false {
        TextOccurrences.find(phrase, number, field, tokens, places) { all[number].append($0) }
      }
    }
    isMatch = visit(root, all)
    if !isMatch { found = Array(repeating: [], count: query.phrases.count) }
  }

  private static func places(of tokens: [TextToken]) -> [[UInt8]: [Int]] {
    var places: [[UInt8]: [Int]] = [:]
    for (index, token) in tokens.enumerated() { places[token.term, default: []].append(index) }
    return places
  }

  private static func find(
    _ phrase: BoundTextQuery.Phrase, _ number: Int, _ field: Int, _ tokens: [TextToken],
    _ places: [[UInt8]: [Int]], _ body: (Occurrence) -> Void
  ) {
    guard let head = phrase.terms.first else { return }
    let starts =
      head.prefix == nil
      ? places[head.bytes] ?? [] : tokens.indices.filter { head.accepts(tokens[$0].term) }
    for start in starts {
      var index = start
      let isFound = phrase.terms.dropFirst().allSatisfy { term in
        let position = tokens[start].position + term.offset
        while index < tokens.count, tokens[index].position < position { index += 1 }
        return index < tokens.count && tokens[index].position == position
          && term.accepts(tokens[index].term)
      }
      guard isFound else { continue }
      let range = tokens[start].range.lowerBound..<tokens[index].range.upperBound
      body(Occurrence(phrase: number, field: field, position: tokens[start].position, range: range))
    }
  }

  private mutating func visit(_ node: BoundTextQuery.Node, _ all: [[Occurrence]]) -> Bool {
    switch node {
    case .phrase(let number):
      found[number] = all[number]
      return !all[number].isEmpty
    case .near(let numbers, let distance):
      let near = TextOccurrences.near(
        numbers.map { all[$0] }, lengths: numbers.map { query.phrases[$0].length }, distance)
      for (number, occurrences) in zip(numbers, near) { found[number] = occurrences }
      return !near[0].isEmpty
    case .all(let nodes):
      let before = found
      for node in nodes where !visit(node, all) {
        found = before
        return false
      }
      return true
    case .any(let nodes):
      var isFound = false
      for node in nodes where visit(node, all) { isFound = true }
      return isFound
    case .without(let node, let excluded):
      let before = found
      guard visit(node, all) else { return false }
      let kept = found
      if visit(excluded, all) {
        found = before
        return false
      }
      found = kept
      return true
    }
  }

  /// Returns the occurrences that belong to a group: one occurrence of each phrase, all in one
  /// field, with at most `distance` words between the end of the first phrase and the beginning of
  /// the last.
  ///
  /// As in FTS5, after each such group the search advances the phrase with the nearest next
  /// occurrence.
  static func near(_ lists: [[Occurrence]], lengths: [Int], _ distance: Int) -> [[Occurrence]] {
    let places = lists.map { $0.map { $0.field << 40 + $0.position } }
    var kept: [[Occurrence]] = Array(repeating: [], count: lists.count)
    var at = Array(repeating: 0, count: lists.count)
    while true {
      var last = 0
      for list in lists.indices {
        guard at[list] < places[list].count else { return kept }
        last = max(last, places[list][at[list]])
      }
      var isTogether = true
      for list in lists.indices {
        while places[list][at[list]] < last - lengths[list] - distance {
          isTogether = false
          at[list] += 1
          guard at[list] < places[list].count else { return kept }
        }
      }
      guard isTogether else { continue }
      var (next, nextPlace) = (0, Int.max)
      for list in lists.indices {
        let occurrence = lists[list][at[list]]
        if kept[list].last != occurrence { kept[list].append(occurrence) }
        let following = at[list] + 1 < places[list].count ? places[list][at[list] + 1] : Int.max
        if following < nextPlace { (next, nextPlace) = (list, following) }
      }
      at[next] += 1
    }
  }
}
