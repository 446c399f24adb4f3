import LatewoodSimulation
import Testing

@testable import LatewoodText

/// The words that are equal after folding.
@Suite struct FoldingTests {
  private func folded(_ text: String, _ folding: TextFolding = .all) -> String {
    string(folding.folded(text.unicodeScalars.map(\.value)))
  }

  private func string(_ scalars: [UInt32]) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars.compactMap(Unicode.Scalar.init))
    return String(view)
  }

  @Test(arguments: [
    ("Zürich", "zurich"), ("STRASSE", "strasse"), ("Straße", "strasse"), ("ÉCOLE", "ecole"),
    ("İstanbul", "istanbul"),
    ("ΣΊΣΥΦΟΣ", "σισυφοσ"), ("σίσυφος", "σισυφοσ"), ("ﬁn", "fin"), ("ＡＢＣ", "abc"), ("ё", "е"),
    ("Việt", "viet"),
    ("שָׁלוֹם", "שלום"), ("مُحَمَّد", "محمد"), ("ｶﾞ", "カ\u{3099}"), ("がカ", "か\u{3099}カ"),
    ("हिन्दी", "हिन्दी"), ("กำ", "กำ"),
  ])
  func `case and marks make no difference, but letters do`(_ text: String, _ expected: String) {
    #expect(Array(folded(text).unicodeScalars) == Array(expected.unicodeScalars))
  }

  @Test func `each difference can be kept`() {
    #expect(folded("Éa", .letterCase).unicodeScalars.elementsEqual("e\u{301}a".unicodeScalars))
    #expect(folded("Éa", .diacritics) == "Ea")
    #expect(folded("Éa", []).unicodeScalars.elementsEqual("E\u{301}a".unicodeScalars))
  }

  /// The standard library decides which texts are canonically equivalent.
  @Test func `equivalent texts fold equally, and folding twice changes nothing`() {
    var random = SeededRandom(seed: 11)
    for _ in 0..<3000 {
      let text = string((0..<6).map { _ in randomScalar(&random) })
      for folding: TextFolding in [[], .letterCase, .diacritics, .all] {
        let once = folded(text, folding)
        #expect(folded(once, folding).unicodeScalars.elementsEqual(once.unicodeScalars), "\(text)")
      }
    }
    for scalar: UInt32 in 0..<0x30000 {
      guard let scalar = Unicode.Scalar(scalar) else { continue }
      let text = String(scalar)
      let once = folded(text)
      #expect(folded(once).unicodeScalars.elementsEqual(once.unicodeScalars), "\(scalar.value)")
      let lower = scalar.properties.lowercaseMapping
      if lower.unicodeScalars.count == 1, !isNewerThanTables(scalar) {
        #expect(
          folded(lower, .letterCase).unicodeScalars.elementsEqual(folded(text, .letterCase).unicodeScalars)
            || "ϴẞ".unicodeScalars.contains(scalar), "\(scalar.value)")
      }
    }
  }

  private func isNewerThanTables(_ scalar: Unicode.Scalar) -> Bool {
    guard let age = scalar.properties.age else { return true }
    return age.major > 15
  }

  @Test func `ranges lead back to the original`() {
    let mapped = TextFolding.all.mapped("Größe".unicodeScalars.map(\.value))
    #expect(string(mapped.scalars) == "grosse")
    #expect(mapped.origin(of: 0..<3) == 0..<3)
    #expect(mapped.origin(of: 3..<4) == 3..<4)
    #expect(mapped.origin(of: 4..<5) == 3..<4)
    #expect(mapped.origin(of: 5..<6) == 4..<5)
    // A mark that is removed belongs to neither neighbour.
    let marked = TextFolding.all.mapped("e\u{301}x".unicodeScalars.map(\.value))
    #expect(marked.origin(of: 0..<1) == 0..<1 && marked.origin(of: 1..<2) == 2..<3)
    #expect(marked.origin(of: 1..<1) == 0..<0)
  }
}
