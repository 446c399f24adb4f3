import LatewoodSimulation

@testable import LatewoodText

/// Documents in a dictionary, searched by looking at each of them.
struct TextIndexModel {
  let fieldCount: Int
  private(set) var documents: [[UInt8]: Document] = [:]
  private var analyzer: TextAnalyzer
  private var nextNumber: UInt64 = 1

  struct Document {
    var number: UInt64
    var texts: [[String]]
    var tokens: [[TextToken]]
    var length: Int
  }

  init(fieldCount: Int, options: TextOptions) {
    self.fieldCount = fieldCount
    analyzer = TextAnalyzer(options)
  }

  mutating func set(_ texts: [[String]]?, for id: [UInt8]) {
    guard let texts else {
      documents[id] = nil
      return
    }
    var tokens: [[TextToken]] = []
    var length = 0
    for field in 0..<fieldCount {
      var start = 0
      tokens.append([])
      for text in field < texts.count ? texts[field] : [] {
        for var token in analyzer.tokens(of: text) {
          token.position += start
          tokens[field].append(token)
        }
        let count = analyzer.tokens(of: text).count
        length += count
        start += count + TextIndexWriter.textGap
      }
    }
    var number = nextNumber
    if let known = documents[id] { number = known.number } else { nextNumber += 1 }
    documents[id] = Document(number: number, texts: texts, tokens: tokens, length: length)
  }

  mutating func bind(_ query: TextQuery) throws -> BoundTextQuery {
    try BoundTextQuery(query, fields: (0..<fieldCount).map { "f\($0)" }, &analyzer)
  }

  /// Returns the documents that a query finds, in the order of numbers.
  func scores(of query: BoundTextQuery, weights: [Double]) -> [TextMatch] {
    let documents = documents.values.sorted { $0.number < $1.number }
    let ranking = BM25(
      documentCount: documents.count, totalLength: documents.reduce(0) { $0 + $1.length })
    let idfs = query.phrases.indices.map { (number) in
      var only = query
      only.root = .phrase(number)
      return ranking.idf(documents.count { TextOccurrences(of: only, in: $0.tokens).isMatch })
    }
    return documents.compactMap { (document) in
      let occurrences = TextOccurrences(of: query, in: document.tokens)
      guard occurrences.isMatch else { return nil }
      var score = 0.0
      for (number, found) in occurrences.found.enumerated() where !found.isEmpty {
        let frequency = found.reduce(0) { $0 + weights[$1.field] }
        score +=
          query.phrases[number].boost
          * ranking.part(idf: idfs[number], frequency: frequency, length: document.length)
      }
      return TextMatch(number: document.number, score: score)
    }
  }

  /// The terms and the number of documents that have each of them.
  var terms: [[UInt8]: Int] {
    var counts: [[UInt8]: Int] = [:]
    for document in documents.values {
      for term in Set(document.tokens.joined().filter { $0.kind != .stopWord }.map(\.term)) {
        counts[term, default: 0] += 1
      }
    }
    return counts
  }
}

/// Words by Zipf's law, and texts and queries of them.
struct ZipfWords {
  let words: [String]
  private let sums: [Double]

  init(count: Int) {
    words = (0..<count).map { (number) in
      // Words of letters that differ in length, the frequent ones short.
      var (rest, word) = (number + 1, "")
      while rest > 0 {
        word.unicodeScalars.append(Unicode.Scalar(UInt8(97 + rest % 23)))
        rest /= 23
      }
      return word
    }
    var sum = 0.0
    sums = (0..<count).map { (rank) in
      sum += 1 / Double(rank + 1)
      return sum
    }
  }

  func word(_ random: inout SeededRandom) -> String {
    let place = Double.random(in: 0..<sums[sums.count - 1], using: &random)
    var (low, high) = (0, sums.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if sums[middle] <= place { low = middle + 1 } else { high = middle }
    }
    return words[low]
  }

  func text(_ count: Int, _ random: inout SeededRandom) -> String {
    (0..<count).map { _ in word(&random) }.joined(separator: " ")
  }

  func phrase(_ random: inout SeededRandom) -> TextQuery.Phrase {
    switch Int.random(in: 0..<10, using: &random) {
    case 0..<6: return TextQuery.Phrase(word(&random))
    case 6: return TextQuery.Phrase(String(word(&random).prefix(1)), isPrefix: true)
    case 7: return TextQuery.Phrase(text(2, &random), isPrefix: Bool.random(using: &random))
    default: return TextQuery.Phrase(text(Int.random(in: 2...3, using: &random), &random))
    }
  }

  func query(_ depth: Int, fieldCount: Int, _ random: inout SeededRandom) -> TextQuery {
    func part() -> TextQuery { query(depth - 1, fieldCount: fieldCount, &random) }
    switch depth == 0 ? 0 : Int.random(in: 0..<12, using: &random) {
    case 0, 1: return .phrase(phrase(&random))
    case 2: return .near([phrase(&random), phrase(&random)], distance: Int.random(in: 0..<5, using: &random))
    case 3:
      return .near(
        [phrase(&random), phrase(&random), phrase(&random)], distance: Int.random(in: 0..<20, using: &random))
    case 4, 5: return .all([part(), part()])
    case 6: return .all([part(), part(), part()])
    case 7, 8: return .any([part(), part(), part()])
    case 9: return .without(part(), part())
    case 10:
      return .fields((0..<fieldCount).filter { _ in Bool.random(using: &random) }.map { "f\($0)" }, part())
    default: return .boost(Double.random(in: 0.1..<10, using: &random), part())
    }
  }
}
