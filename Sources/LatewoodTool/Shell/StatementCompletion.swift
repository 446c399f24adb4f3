import LatewoodDocuments

/// Completes the names in a statement or a selector: fields, collections, keywords and operators.
struct StatementCompletion {
  private static let keywords = [
    "SELECT", "DISTINCT", "RAW", "FROM", "UNNEST", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT",
    "OFFSET", "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS NULL", "IS MISSING", "IS VALUED", "ANY",
    "EVERY", "SATISFIES", "END", "EXISTS", "CASE", "WHEN", "THEN", "ELSE", "AS", "ASC", "DESC",
    "COUNT(", "SUM(", "AVG(", "MIN(", "MAX(",
  ]
  private static let operators = [
    "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$exists", "$type", "$size", "$mod",
    "$regex", "$beginsWith", "$all", "$elemMatch", "$allMatch", "$keyMapMatch", "$and", "$or", "$nor",
    "$not",
  ]

  /// The beginning of the word before the cursor.
  private(set) var partial: String
  private(set) var candidates: [String] = []

  /// - Parameters:
  ///   - statement: all text before the cursor.
  ///   - usual: the collection of selectors, and of statements before their FROM.
  init(of statement: ShellStatement, database: String, names: Completion.Names) {
    let text = statement.text
    partial = String(text.reversed().prefix { Self.isOfName($0) }.reversed())
    let before = text.dropLast(partial.count)
    switch statement.kind {
    case .selector:
      guard statement.openQuote != nil else { return }
      // From the quote on.
      partial = String(text.reversed().prefix { $0 != "\"" }.reversed())
      let fields = names.fields(database, CollectionHandle.defaultName)
      candidates = partial.hasPrefix("$") ? matching(Self.operators) : matching(fields)
    case .statement:
      guard statement.openQuote == nil, before.last != "$" else { return }
      let words = Self.words(of: before)
      if words.last?.uppercased() == "FROM" {
        candidates = matching(names.collections(database))
        return
      }
      let source = words.lastIndex { $0.uppercased() == "FROM" }.flatMap { place in
        place + 1 < words.count ? words[place + 1] : nil
      }
      let collection = source.map { $0 == "_" ? CollectionHandle.defaultName : $0 }
      let fields = names.fields(database, collection ?? CollectionHandle.defaultName).map(Self.quoted)
      let start = partial.uppercased()
      candidates = matching(fields)
      // A word is a keyword only if it was begun.
      if !start.isEmpty, before.last != "." {
        candidates += Self.keywords.filter { $0.hasPrefix(start) && !candidates.contains($0) }
      }
    }
  }

  /// The text for the only candidate.
  static func completed(_ candidate: String, of kind: ShellStatement.Kind) -> String {
    kind == .selector ? candidate + "\"" : candidate.hasSuffix("(") ? candidate : candidate + " "
  }

  private func matching(_ names: [String]) -> [String] { names.filter { $0.hasPrefix(partial) } }

  private static func isOfName(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  private static func words(of text: Substring) -> [String] {
    text.split { !isOfName($0) && $0 != "." }.map(String.init)
  }

  /// Returns the form of a field in a statement.
  private static func quoted(_ name: String) -> String {
    name.allSatisfy(isOfName) && name.first?.isNumber == false ? name : "`\(name)`"
  }
}
