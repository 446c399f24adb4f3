/// Makes terms of the words of texts, for an index and for queries alike.
///
/// A word is folded, and reduced to its stem if the options name a language. Stemmers whose rules
/// tell letters with diacritics from those without see them: diacritics are then folded in the
/// stem. Prefixes are only folded.
///
/// In a run of characters of a script without spaces, each pair of neighbours is a term, and the
/// last character alone is another. A query for several characters is then a phrase of pairs, and a
/// query for a single character is a prefix.
///
/// Takes time proportional to the length of the text. Only the first ``scalarLimit`` scalars of a
/// word and the first ``termLimit`` bytes of a term are used.
package struct TextAnalyzer {
  package let options: TextOptions
  private let stopWords: Set<[UInt8]>
  /// Stems of recent words, because a few frequent words make up most of a text.
  private var stems: [[UInt32]: [UInt8]] = [:]
  private var scalars: [UInt32] = []
  private var folded: [UInt32] = []

  /// The maximum length of a term, in bytes. A longer term is cut between two scalars.
  package static let termLimit = 120
  /// The maximum number of scalars of a word that are used for its term.
  static let scalarLimit = 256
  /// The maximum number of stems that are kept.
  private static let stemLimit = 8192

  package init(_ options: TextOptions) {
    self.options = options
    stopWords = Set(
      options.stopWords.map { word in
        TextAnalyzer.bytes(options.folding.folded(word.unicodeScalars.lazy.map(\.value)))
      })
  }

  /// Returns the tokens of a text, by position.
  package mutating func tokens(of text: String) -> [TextToken] {
    var result: [TextToken] = []
    forEachToken(of: text) { result.append($0) }
    return result
  }

  /// Calls a closure with each token of a text, including stop words.
  ///
  /// - Returns: the number of positions.
  @discardableResult
  package mutating func forEachToken(of text: String, _ body: (TextToken) throws -> Void) rethrows -> Int {
    scalars.removeAll(keepingCapacity: true)
    scalars.append(contentsOf: text.unicodeScalars.lazy.map(\.value))
    let whole = scalars
    var position = 0
    var (index, offset) = (0, 0)
    func advance(to target: Int) -> Int {
      while index < target {
        offset += TextAnalyzer.length(whole[index])
        index += 1
      }
      return offset
    }
    for word in TextWords(whole[...]) {
      if word.isRun {
        try forEachPair(of: whole[word.range], at: &position, advance, body)
        continue
      }
      let start = advance(to: word.range.lowerBound)
      let range = start..<advance(to: word.range.upperBound)
      let (term, kind) = term(of: whole[word.range])
      try body(TextToken(term: term, position: position, range: range, kind: kind))
      position += 1
    }
    return position
  }

  /// Calls a closure with each pair of a run, and with its last character.
  private func forEachPair(
    of run: ArraySlice<UInt32>, at position: inout Int, _ advance: (Int) -> Int,
    _ body: (TextToken) throws -> Void
  ) rethrows {
    /// The character before, folded, and its offset.
    var before: (bytes: [UInt8], start: Int)?
    var at = run.startIndex
    while at < run.endIndex {
      var end = at + 1
      while end < run.endIndex, WordBreakClass(run[end]).kind.isIgnored { end += 1 }
      let start = advance(at)
      let limit = min(end, at + TextAnalyzer.scalarLimit)
      let bytes = TextAnalyzer.bytes(options.folding.folded(TextAnalyzer.visible(run[at..<limit])))
      let next = advance(end)
      if let before {
        try body(
          TextToken(
            term: TextAnalyzer.cut(before.bytes + bytes), position: position, range: before.start..<next,
            kind: .pair))
        position += 1
      }
      before = (bytes, start)
      at = end
    }
    guard let before else { return }
    let end = advance(run.endIndex)
    try body(
      TextToken(
        term: TextAnalyzer.cut(before.bytes), position: position, range: before.start..<end, kind: .last))
    position += 1
  }

  // MARK: Terms

  private mutating func term(of word: ArraySlice<UInt32>) -> (term: [UInt8], kind: TextToken.Kind) {
    folded = plain(word)
    let isStopWord = !stopWords.isEmpty && stopWords.contains(TextAnalyzer.bytes(folded))
    guard let language = options.language, !isStopWord else {
      return (TextAnalyzer.cut(TextAnalyzer.bytes(folded)), isStopWord ? .stopWord : .word)
    }
    let foldsStem = options.folding.contains(.diacritics) && !language.isFoldedBeforeStemming
    if foldsStem { folded = plain(word, options.folding.subtracting(.diacritics)) }
    if let known = stems[folded] { return (known, .word) }
    var stem = language.stem(of: folded)
    if !language.isFoldedBeforeStemming { stem = options.folding.folded(stem) }
    let term = TextAnalyzer.cut(TextAnalyzer.bytes(stem))
    if stems.count == TextAnalyzer.stemLimit { stems.removeAll(keepingCapacity: true) }
    stems[folded] = term
    return (term, .word)
  }

  /// Returns the beginning of the terms that match a prefix: folded, but not reduced to a stem.
  package func prefix(of word: String) -> [UInt8] {
    let scalars = word.unicodeScalars.map(\.value)
    return TextAnalyzer.cut(TextAnalyzer.bytes(plain(scalars[...])))
  }

  private func plain(_ word: ArraySlice<UInt32>) -> [UInt32] { plain(word, options.folding) }

  private func plain(_ word: ArraySlice<UInt32>, _ folding: TextFolding) -> [UInt32] {
    folding.folded(TextAnalyzer.visible(word.prefix(TextAnalyzer.scalarLimit)))
  }

  /// Removes scalars without width, and replaces every kind of apostrophe by the same one.
  private static func visible(_ word: ArraySlice<UInt32>) -> some Sequence<UInt32> {
    word.lazy.compactMap { scalar in
      if scalar < 0xAD { return scalar }
      if scalar == 0x2019 || scalar == 0xFF07 { return 0x27 }
      switch WordBreakClass(scalar).kind {
      case .format, .zeroWidthJoiner: return nil
      // The zero width non-joiner, and variants of glyphs.
      case .extend where scalar == 0x200C || 0xFE00...0xFE0F ~= scalar: return nil
      default: return scalar
      }
    }
  }

  private static func length(_ scalar: UInt32) -> Int {
    scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
  }

  private static func bytes(_ scalars: [UInt32]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(scalars.count)
    for scalar in scalars {
      if scalar < 0x80 {
        result.append(UInt8(truncatingIfNeeded: scalar))
      } else if let scalar = Unicode.Scalar(scalar) {
        result.append(contentsOf: UTF8.encode(scalar) ?? UTF8.EncodedScalar())
      }
    }
    return result
  }

  private static func cut(_ term: [UInt8]) -> [UInt8] {
    guard term.count > termLimit else { return term }
    var end = termLimit
    while end > 0, term[end] & 0xC0 == 0x80 { end -= 1 }
    return Array(term[..<end])
  }
}
