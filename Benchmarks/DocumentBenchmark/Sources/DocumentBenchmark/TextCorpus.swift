import Foundation

/// Texts of a hundred words by Zipf's law: the word of rank n is about n times as rare as the
/// first. Every run makes the same ones.
struct TextCorpus {
  private static let wordCount = 60_000
  private static let length = 100

  private let words: [String]
  private var numbers = QueryText.Numbers()

  init() {
    let syllables = "bdfghklmnprstvz".flatMap { consonant in "aeiou".map { "\(consonant)\($0)" } }
    words = (0..<TextCorpus.wordCount).map { rank in
      var number = rank &* 7_919 % TextCorpus.wordCount
      var word = ""
      for _ in 0..<3 {
        word = syllables[number % syllables.count] + word
        number /= syllables.count
      }
      return word
    }
  }

  /// The word of a rank, counted from 0.
  func word(_ rank: Int) -> String { words[rank] }

  private mutating func nextRank() -> Int {
    let part = Double(numbers.next(below: 1 << 30)) / Double(1 << 30)
    return Int(pow(Double(TextCorpus.wordCount), part)) - 1
  }

  /// Returns another text, with sentences of ten words.
  mutating func next() -> String {
    var text = ""
    for place in 0..<TextCorpus.length {
      if place > 0 { text += place % 10 == 0 ? ". " : " " }
      let word = words[nextRank()]
      text += place % 10 == 0 ? word.capitalized : word
    }
    return text
  }
}
