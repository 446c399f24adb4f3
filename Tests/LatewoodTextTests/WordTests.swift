import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The boundaries of words.
@Suite struct WordTests {
  @Test func `boundaries agree with Unicode's test file`() throws {
    let lines = String(decoding: try Repository.read("Tests/text/word-breaks.txt"), as: UTF8.self)
      .split(separator: "\n").filter { !$0.hasPrefix("#") }
    for line in lines {
      var segments: [[UInt32]] = [[]]
      for field in line.split(separator: " ") {
        if field == "|" {
          segments.append([])
        } else {
          segments[segments.count - 1].append(try #require(UInt32(field, radix: 16)))
        }
      }
      let scalars = segments.flatMap { $0 }
      let found = WordSegments(scalars[...]).map { Array(scalars[$0]) }
      #expect(found == segments, "\(line)")
    }
    #expect(lines.count > 1800)
  }

  @Test func `the segments of any text are the whole text`() {
    var random = SeededRandom(seed: 7)
    for _ in 0..<2000 {
      let scalars = (0..<Int.random(in: 0..<40, using: &random)).map { _ in randomScalar(&random) }
      var end = 0
      for segment in WordSegments(scalars[...]) {
        #expect(segment.lowerBound == end && !segment.isEmpty)
        end = segment.upperBound
      }
      #expect(end == scalars.count)
    }
  }

  @Test(arguments: [
    ("can't stop", ["can't", "stop"]), ("3.14 or 1,000", ["3.14", "or", "1,000"]),
    ("東京 and カタカナ", ["東京", "and", "カタカナ"]), ("これはペンです。", ["これはペンです"]),
    ("สวัสดีครับ ok", ["สวัสดีครับ", "ok"]), ("한국어 문장", ["한국어", "문장"]), ("カ_a", ["カ", "a"]),
    ("a東b", ["a", "東", "b"]), ("— … !", []), ("", []), ("👩‍👩‍👧 x", ["x"]),
    ("e\u{301}te\u{301}", ["e\u{301}te\u{301}"]),
  ])
  func `words have letters, and scripts without spaces make runs`(_ text: String, _ words: [String]) {
    let scalars = text.unicodeScalars.map(\.value)
    let found = TextWords(scalars[...]).map { word in
      var view = String.UnicodeScalarView()
      view.append(contentsOf: scalars[word.range].compactMap(Unicode.Scalar.init))
      return String(view)
    }
    #expect(found == words)
  }

  @Test func `the versions of tables and stemmers are part of the format`() {
    #expect(UnicodeTables.version == "15.0.0")
    #expect(TextLanguage.stemmerVersion == 1)
  }
}

/// A scalar of any class, mostly of a class with rules.
func randomScalar(_ random: inout SeededRandom) -> UInt32 {
  let special: [UInt32] = [
    0x0D, 0x0A, 0x20, 0x22, 0x27, 0x2C, 0x2E, 0x30, 0x3A, 0x5F, 0x41, 0xAD, 0x301, 0x5D0, 0x200D, 0x2019,
    0x1F469, 0x1F1E6, 0x30A2, 0x6771, 0x0E01, 0xAC00, 0xFE0F, 0x3099, 0x130, 0xDF, 0x345,
  ]
  if Bool.random(using: &random) { return special[Int.random(in: 0..<special.count, using: &random)] }
  let scalar = UInt32.random(in: 0..<0x110000, using: &random)
  return Unicode.Scalar(scalar) == nil ? 0xFFFD : scalar
}
