import LatewoodDevice
import LatewoodSimulation
import Testing

@testable import LatewoodText

/// Stems of words, compared with independent implementations.
@Suite struct StemmerTests {
  /// `LATEWOOD_STEMS` names a longer list; see Tests/text/stems.py.
  @Test func `stems agree with snowballstemmer and FTS5`() throws {
    let bytes =
      if let path = CurrentProcess.environmentVariable("LATEWOOD_STEMS") {
        try Repository.read(FileVolume(), path)
      } else {
        try Repository.read("Tests/text/stems.txt")
      }
    var counts: [TextLanguage: Int] = [:]
    for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false)
      let language = try #require(TextLanguage(rawValue: String(fields[0])))
      #expect(
        language.stem(of: fields[1].unicodeScalars.map(\.value)) == fields[2].unicodeScalars.map(\.value),
        "\(line)")
      counts[language, default: 0] += 1
    }
    #expect(TextLanguage.allCases.allSatisfy { counts[$0, default: 0] >= 200 })
  }

  /// Of German, except for "ß", which becomes "ss".
  @Test(arguments: TextLanguage.allCases)
  func `every word has a stem that is not longer`(_ language: TextLanguage) {
    var random = SeededRandom(seed: 3)
    for _ in 0..<1000 {
      let word = (0..<Int.random(in: 0..<60, using: &random)).map { _ in randomScalar(&random) }.filter {
        $0 != 0xDF
      }
      let stem = language.stem(of: word)
      #expect(stem.count <= word.count && stem.allSatisfy { Unicode.Scalar($0) != nil })
    }
    for letter in "aeiouyYIU'snttgijëïéèãõüqñёинь".unicodeScalars {
      for count in 0..<12 {
        #expect(language.stem(of: Array(repeating: letter.value, count: count)).count <= count)
      }
    }
  }

  @Test func `letters of other alphabets are consonants`() {
    #expect(TextLanguage.english.stem(of: [0x1F469, 0x61, 0x1F469, 0x73]) == [0x1F469, 0x61, 0x1F469])
  }

  @Test(arguments: TextLanguage.allCases)
  func `a word of any length has a stem`(_ language: TextLanguage) {
    for unit in ["a", "x", "ge", "'", "e\u{301}", "\u{308}", "ë", "ию", "iqu", "ß"] {
      let word = Array(
        repeating: unit.unicodeScalars.map(\.value), count: 100_000 / unit.unicodeScalars.count)
      #expect(language.stem(of: Array(word.joined())).count <= 200_000)
    }
    #expect(language.stem(of: []).isEmpty)
  }

  @Test func `a stemmer knows a letter and its mark as one letter`() {
    for (language, word) in [(TextLanguage.french, "beautés"), (.russian, "зелёный"), (.spanish, "acción")] {
      let composed = word.unicodeScalars.map(\.value)
      #expect(language.stem(of: TextFolding().folded(composed)) == language.stem(of: composed))
    }
  }
}
