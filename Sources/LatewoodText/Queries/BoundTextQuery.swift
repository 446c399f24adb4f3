/// A ``TextQuery`` for an index: its phrases are terms, and its fields are numbers.
package struct BoundTextQuery: Equatable, Sendable {
  /// Terms at fixed distances from each other.
  package struct Phrase: Equatable, Sendable {
    package var terms: [Term]
    /// The numbers of the fields to search; nil for all.
    package var fields: Set<Int>?
    package var boost: Double
    /// The phrase as the query spells it, for explanations.
    package var text: String

    /// The number of positions from the first term to the last, both included.
    var length: Int { (terms.last?.offset ?? -1) + 1 }
  }

  package struct Term: Equatable, Sendable {
    package var bytes: [UInt8]
    /// The prefix of other terms that also match; nil if only the exact term matches.
    package var prefix: [UInt8]?
    /// The distance from the first term of the phrase, in positions.
    package var offset: Int

    package func accepts(_ term: [UInt8]) -> Bool {
      term == bytes || prefix.map { term.starts(with: $0) } ?? false
    }
  }

  package indirect enum Node: Equatable, Sendable {
    /// The number of a phrase.
    case phrase(Int)
    case near([Int], distance: Int)
    case all([Node])
    case any([Node])
    case without(Node, Node)
  }

  package private(set) var phrases: [Phrase] = []
  /// The maximum number of terms of a phrase. Only the first terms of a longer phrase are used.
  package static let phraseTermLimit = 64

  /// Nil if the query has no words, and therefore finds nothing.
  package var root: Node?

  /// Binds a query to the options and the fields of an index.
  ///
  /// A phrase that has no words, such as `"..."` or stop words only, is left out.
  ///
  /// - Parameter fields: the names of the fields of the index.
  /// - Throws: ``UnknownField`` for a field that the index does not have.
  package init(
    _ query: TextQuery, fields: [String], _ analyzer: inout TextAnalyzer
  ) throws(UnknownField) {
    root = try bind(query, fields, nil, 1, &analyzer)
  }

  package struct UnknownField: Error, Equatable {
    package var name: String
  }

  private mutating func bind(
    _ query: TextQuery, _ names: [String], _ fields: Set<Int>?, _ boost: Double,
    _ analyzer: inout TextAnalyzer
  ) throws(UnknownField) -> Node? {
    switch query {
    case .phrase(let phrase):
      return add(phrase, fields, boost, &analyzer).map { .phrase($0) }
    case .near(let phrases, let distance):
      let numbers = phrases.compactMap { add($0, fields, boost, &analyzer) }
      if numbers.count == 1 { return .phrase(numbers[0]) }
      return numbers.isEmpty ? nil : .near(numbers, distance: distance)
    case .all(let parts):
      var nodes: [Node] = []
      for part in parts {
        if let node = try bind(part, names, fields, boost, &analyzer) { nodes.append(node) }
      }
      return nodes.count > 1 ? .all(nodes) : nodes.first
    case .any(let parts):
      var nodes: [Node] = []
      for part in parts {
        if let node = try bind(part, names, fields, boost, &analyzer) { nodes.append(node) }
      }
      return nodes.count > 1 ? .any(nodes) : nodes.first
    case .without(let part, let excluded):
      guard let node = try bind(part, names, fields, boost, &analyzer) else { return nil }
      guard let other = try bind(excluded, names, fields, boost, &analyzer) else { return node }
      return .without(node, other)
    case .fields(let wanted, let part):
      var numbers: Set<Int> = []
      for name in wanted {
        guard let number = names.firstIndex(of: name) else { throw UnknownField(name: name) }
        numbers.insert(number)
      }
      return try bind(part, names, fields.map { $0.intersection(numbers) } ?? numbers, boost, &analyzer)
    case .boost(let factor, let part):
      return try bind(part, names, fields, boost * factor, &analyzer)
    }
  }

  /// Adds a phrase, unless it has no words.
  private mutating func add(
    _ phrase: TextQuery.Phrase, _ fields: Set<Int>?, _ boost: Double, _ analyzer: inout TextAnalyzer
  ) -> Int? {
    let tokens = analyzer.tokens(of: phrase.text)
    var terms: [Term] = []
    for (index, token) in tokens.enumerated() {
      var term = Term(bytes: token.term, prefix: nil, offset: token.position)
      let isLast = index == tokens.count - 1
      switch token.kind {
      case .stopWord where !(isLast && phrase.isPrefix): continue
      case .word, .stopWord:
        if isLast, phrase.isPrefix {
          let word = Array(phrase.text.utf8)[token.range]
          term.prefix = analyzer.prefix(of: String(decoding: word, as: UTF8.self))
        }
      case .pair: break
      case .last:
        // The previous pair already includes this character.
        if index > 0, tokens[index - 1].kind == .pair { continue }
        term.prefix = token.term
      }
      terms.append(term)
    }
    guard let first = terms.first?.offset else { return nil }
    if terms.count > BoundTextQuery.phraseTermLimit {
      terms.removeSubrange(BoundTextQuery.phraseTermLimit...)
    }
    for index in terms.indices { terms[index].offset -= first }
    phrases.append(Phrase(terms: terms, fields: fields, boost: boost, text: phrase.text))
    return phrases.count - 1
  }
}
