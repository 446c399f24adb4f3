import Foundation

/// Wikipedia's descriptions of films, one after the other, then again from the first one.
///
/// Accents are removed. All characters except ASCII letters and digits separate words:
/// SQLite's tokenizer and Unicode's rules then find the same words.
struct FilmCorpus: TextCorpus {
  let name = "texts of films"
  let words: [String]
  private let texts: [String]
  private var place = 0

  private struct Film: Decodable { var extract: String? }
  private struct NoTexts: Error {}

  /// - Parameter paths: files of the data set `prust/wikipedia-movie-data` that each contain an
  ///   array of films.
  init(_ paths: [String]) throws {
    texts = try paths.flatMap { path in
      try JSONDecoder().decode([Film].self, from: Data(contentsOf: URL(filePath: path)))
        .compactMap { film in film.extract.map(FilmCorpus.plain) }.filter { !$0.isEmpty }
    }
    guard !texts.isEmpty else { throw NoTexts() }
    var counts: [Substring: Int] = [:]
    for text in texts {
      for word in text.split(separator: " ") { counts[word, default: 0] += 1 }
    }
    words = counts.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map { String($0.key) }
  }

  mutating func next() -> String {
    defer { place = (place + 1) % texts.count }
    return texts[place]
  }

  private static func plain(_ text: String) -> String {
    let folded = text.folding(options: [.diacriticInsensitive, .caseInsensitive], locale: nil)
    let words = folded.unicodeScalars.split { !($0.isASCII && $0.properties.isAlphabetic || "0"..."9" ~= $0) }
    return words.map { String($0) }.joined(separator: " ")
  }
}
