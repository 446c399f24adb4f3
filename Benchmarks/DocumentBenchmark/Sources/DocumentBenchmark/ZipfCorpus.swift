import Foundation

/// Texts without an end, and their words.
protocol TextCorpus {
  /// The kind of texts, for the heading of the results.
  var name: String { get }
  /// The words, the most frequent first.
  var words: [String] { get }
  /// Returns another text of letters and digits, spaces and periods.
  mutating func next() -> String
}

/// Texts of a hundred words by Zipf's law: the word of rank n is about n times as rare as the
/// first. Every run makes the same ones.
struct ZipfCorpus: TextCorpus {
  private static let wordCount = 60_000
  private static let length = 100

  let name = "texts of 100 words"
  let words: [String]
  private var numbers = QueryText.Numbers()

  init() {
    let syllables = "bdfghklmnprstvz".flatMap { consonant in "aeiou".map { "\(consonant)\($0)" } }
    words = (0..<ZipfCorpus.wordCount).map { rank in
      var number = rank &* 7_919 % ZipfCorpus.wordCount
      var word = ""
      for _ in 0..<3 {
        word = syllables[number % syllables.count] + word
        number /= syllables.count
      }
      return word
    }
  }

  private mutating func nextRank() -> Int {
    let part = Double(numbers.next(below: 1 << 30)) / Double(1 << 30)
    return Int(pow(Double(ZipfCorpus.wordCount), part)) - 1
  }

  /// Makes sentences of ten words.
  mutating func next() -> String {
    var text = ""
    for place in 0..<ZipfCorpus.length {
      if place > 0 { text += place % 10 == 0 ? ". " : " " }
      let word = words[nextRank()]
      text += place % 10 == 0 ? word.capitalized : word
    }
    return text
  }
}
