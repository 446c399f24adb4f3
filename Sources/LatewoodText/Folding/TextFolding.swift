/// The differences between letters that a search ignores.
package struct TextFolding: OptionSet, Hashable, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Upper and lower case: "STRASSE", "Straße" and "strasse" are one word.
  package static let letterCase = TextFolding(rawValue: 1)
  /// Accents and other marks of the Latin, Greek, Cyrillic, Hebrew, Arabic and Syriac scripts:
  /// "Zürich" and "Zurich" are one word. Marks that distinguish letters in other scripts stay.
  package static let diacritics = TextFolding(rawValue: 2)

  /// Both.
  package static let all: TextFolding = [.letterCase, .diacritics]

  /// Returns scalars folded and in canonical order, each letter followed by its marks.
  ///
  /// Texts that are canonically equivalent, or differ only in the width of letters, are equal after
  /// any folding, even the empty one.
  package func folded(_ scalars: some Sequence<UInt32>) -> [UInt32] {
    var result: [UInt32] = []
    for scalar in scalars { append(scalar, to: &result) { _ in } }
    return result
  }

  /// Returns a folded text with the index of each scalar in the original.
  package func mapped(_ scalars: some Sequence<UInt32>) -> FoldedText {
    var result = FoldedText()
    for (index, scalar) in scalars.enumerated() {
      append(scalar, to: &result.scalars) { (position) in result.origins.insert(index, at: position) }
    }
    return result
  }

  /// Appends the folding of a scalar. `placed` is called with the index of each scalar that is
  /// inserted.
  @inline(__always)
  private func append(_ scalar: UInt32, to result: inout [UInt32], placed: (Int) -> Void) {
    if scalar < 0x80 {
      placed(result.count)
      let isUpper = scalar &- 0x41 < 26
      result.append(isUpper && contains(.letterCase) ? scalar | 0x20 : scalar)
    } else if scalar &- 0xAC00 < 11172 {
      TextFolding.forEachPart(ofSyllable: scalar) { (part) in
        placed(result.count)
        result.append(part)
      }
    } else if let sequence = FoldingTable.of(self)[scalar] {
      for each in sequence { place(each, in: &result, placed: placed) }
    } else {
      place(scalar, in: &result, placed: placed)
    }
  }

  /// Inserts a scalar before those with a higher combining class at the end.
  private func place(_ scalar: UInt32, in result: inout [UInt32], placed: (Int) -> Void) {
    var index = result.count
    let combiningClass = UnicodeTables.combiningClasses[scalar]
    if combiningClass > 0 {
      // If a letter has more marks than in any language, the excess marks keep their order.
      let limit = max(0, index - 30)
      while index > limit, UnicodeTables.combiningClasses[result[index - 1]] > combiningClass {
        index -= 1
      }
    }
    placed(index)
    result.insert(scalar, at: index)
  }

  /// The decomposition of a syllable of Hangul.
  private static func forEachPart(ofSyllable scalar: UInt32, _ body: (UInt32) -> Void) {
    let index = scalar - 0xAC00
    body(0x1100 + index / 588)
    body(0x1161 + index % 588 / 28)
    if index % 28 > 0 { body(0x11A7 + index % 28) }
  }
}

/// A folded text, and the index of each scalar in the original.
package struct FoldedText: Equatable {
  package fileprivate(set) var scalars: [UInt32] = []
  /// The index in the original of the source of each scalar.
  fileprivate var origins: [Int] = []

  /// Returns the range in the original that corresponds to a range of the folded text.
  ///
  /// A part of a letter corresponds to the whole letter: "ß" is folded to "ss", and the range of
  /// either "s" is the "ß".
  package func origin(of range: Range<Int>) -> Range<Int> {
    let places = origins[range]
    guard let first = places.min(), let last = places.max() else { return 0..<0 }
    return first..<(last + 1)
  }
}

/// The scalars that replace each scalar that a folding changes.
private struct FoldingTable: Sendable {
  /// The number of the entry of a scalar, by pages of 256; 0 for none.
  private var pages: [UInt16] = []
  private var numbers: [UInt16] = []
  private var entries: [[UInt32]] = [[]]

  private static let tables = (0..<4).map { FoldingTable(TextFolding(rawValue: $0)) }

  static func of(_ folding: TextFolding) -> FoldingTable { tables[Int(folding.rawValue & 3)] }

  private init(_ folding: TextFolding) {
    var reader = TableNumbers(UnicodeData.decompositions)
    let decompositions = reader.sequences()
    reader = TableNumbers(UnicodeData.caseFoldings)
    let caseFoldings = folding.contains(.letterCase) ? reader.sequences() : [:]
    var changed = Set(decompositions.keys).union(caseFoldings.keys)
    if folding.contains(.diacritics) {
      for scalar: UInt32 in 0..<0x20000 where UnicodeTables.diacritics[scalar] != 0 {
        changed.insert(scalar)
      }
    }
    var table = [UInt32: UInt16]()
    for scalar in changed.sorted() {
      // A folding may have a decomposition, and the decomposition of an accented capital has a
      // folding.
      let folded = (decompositions[scalar] ?? [scalar]).flatMap { caseFoldings[$0] ?? [$0] }
      var sequence = folded.flatMap { decompositions[$0] ?? [$0] }
      if let direct = caseFoldings[scalar] {
        sequence = direct.flatMap { decompositions[$0] ?? [$0] }
      }
      if folding.contains(.diacritics) {
        sequence.removeAll { UnicodeTables.diacritics[$0] != 0 }
      }
      guard sequence != [scalar] else { continue }
      table[scalar] = UInt16(entries.count)
      entries.append(sequence)
    }
    var known: [[UInt16]: UInt16] = [:]
    for page: UInt32 in 0..<0x1100 {
      let numbers = (0..<256).map { (offset: UInt32) in table[page << 8 | offset] ?? 0 }
      if let number = known[numbers] {
        pages.append(number)
      } else {
        let number = UInt16(self.numbers.count / 256)
        known[numbers] = number
        pages.append(number)
        self.numbers += numbers
      }
    }
  }

  subscript(scalar: UInt32) -> [UInt32]? {
    let number = numbers[Int(pages[Int(scalar >> 8)]) << 8 | Int(scalar & 0xFF)]
    return number == 0 ? nil : entries[Int(number)]
  }
}
