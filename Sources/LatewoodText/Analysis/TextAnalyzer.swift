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
  /// The folding of words before they are reduced to stems.
  private let firstFolding: TextFolding
  private let stopWords: Set<[UInt8]>
  /// Folded words, because a few frequent words make up most of a text.
  private var words = TermTable()
  /// The number of the term of each word in `stems`, and its kind.
  private var wordStems: [(stem: Int, kind: TextToken.Kind)] = []
  private var stems = TermTable()
  private var scalars: [UInt32] = []

  /// The maximum length of a term, in bytes. A longer term is cut between two scalars.
  package static let termLimit = 120
  /// The maximum number of scalars of a word that are used for its term.
  static let scalarLimit = 256
  /// The maximum number of words whose stems are kept.
  private static let stemLimit = 32_768
  /// The maximum length of these words together, in bytes.
  private static let stemLengthLimit = 1 << 20

  package init(_ options: TextOptions) {
    self.options = options
    firstFolding =
      options.language?.isFoldedBeforeStemming == false
      ? options.folding.subtracting(.diacritics) : options.folding
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
    try forEachTerm(of: text) { (term, token) in
      try body(
        TextToken(term: Array(term), position: token.position, range: token.range, kind: token.kind))
    }
  }

  /// A token apart from its term.
  struct Place {
    var position: Int
    var range: Range<Int>
    var kind: TextToken.Kind
  }

  /// Calls a closure with the term of each token, in memory that it must not keep.
  ///
  /// - Returns: the number of positions.
  mutating func forEachTerm(
    of text: String, _ body: (_ term: UnsafeBufferPointer<UInt8>, Place) throws -> Void
  ) rethrows -> Int {
    var text = text
    return try text.withUTF8 { (bytes) in
      var words = PlainWords()
      var position = 0
      while let piece = words.next(in: bytes) {
        switch piece {
        case .word(let range):
          try withPlainTerm(of: bytes, range) { (term, kind) in
            try body(term, Place(position: position, range: range, kind: kind))
          }
          position += 1
        case .other(let range):
          // SAFETY: the range is inside of the text.
          let part = String(decoding: UnsafeBufferPointer(rebasing: bytes[range]), as: UTF8.self)
          try forEachScalarTerm(of: part, at: &position, offset: range.lowerBound) { (term, place) in
            try term.withUnsafeBufferPointer { try body($0, place) }
          }
        }
      }
      return position
    }
  }

  /// Calls a closure with the term of a word of ASCII letters and digits.
  @inline(__always) private mutating func withPlainTerm(
    of text: UnsafeBufferPointer<UInt8>, _ range: Range<Int>,
    _ body: (_ term: UnsafeBufferPointer<UInt8>, TextToken.Kind) throws -> Void
  ) rethrows {
    try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: PlainWords.wordLimit) { (folded) in
      // SAFETY: a plain word fits into the allocation, and its range is inside of the text.
      var count = 0
      let ignoresCase = options.folding.contains(.letterCase)
      for byte in text[range] {
        folded[count] = ignoresCase && byte &- 0x41 < 26 ? byte | 0x20 : byte
        count += 1
      }
      let word = UnsafeBufferPointer(rebasing: folded[..<count])
      guard options.language != nil || !stopWords.isEmpty else { return try body(word, .word) }
      let (stem, kind) = known(word)
      try stems.with(stem) { try body($0, kind) }
    }
  }

  /// Returns the number of the term of a folded word in `stems`.
  private mutating func known(_ word: UnsafeBufferPointer<UInt8>) -> (stem: Int, kind: TextToken.Kind) {
    if words.count >= TextAnalyzer.stemLimit || words.byteCount >= TextAnalyzer.stemLengthLimit {
      words.removeAll()
      stems.removeAll()
      wordStems.removeAll(keepingCapacity: true)
    }
    let number = words.number(of: word)
    if number == wordStems.count {
      let (term, kind) = term(ofFolded: word)
      let stem = term.withUnsafeBufferPointer { stems.number(of: $0) }
      wordStems.append((stem, kind))
    }
    return wordStems[number]
  }

  /// Calls a closure with the terms of any text, by the rules of Unicode alone.
  ///
  /// - Parameters:
  ///   - position: the position of the first token, which is advanced.
  ///   - start: the offset of the text.
  mutating func forEachScalarTerm(
    of text: String, at position: inout Int, offset start: Int,
    _ body: (_ term: [UInt8], Place) throws -> Void
  ) rethrows {
    scalars.removeAll(keepingCapacity: true)
    scalars.append(contentsOf: text.unicodeScalars.lazy.map(\.value))
    let whole = scalars
    var (index, offset) = (0, start)
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
      try body(term, Place(position: position, range: range, kind: kind))
      position += 1
    }
  }

  /// Calls a closure with each pair of a run, and with its last character.
  private func forEachPair(
    of run: ArraySlice<UInt32>, at position: inout Int, _ advance: (Int) -> Int,
    _ body: (_ term: [UInt8], Place) throws -> Void
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
          TextAnalyzer.cut(before.bytes + bytes),
          Place(position: position, range: before.start..<next, kind: .pair))
        position += 1
      }
      before = (bytes, start)
      at = end
    }
    guard let before else { return }
    let end = advance(run.endIndex)
    try body(
      TextAnalyzer.cut(before.bytes), Place(position: position, range: before.start..<end, kind: .last))
    position += 1
  }

  // MARK: Terms

  private mutating func term(of word: ArraySlice<UInt32>) -> (term: [UInt8], kind: TextToken.Kind) {
    let folded = TextAnalyzer.bytes(plain(word, firstFolding))
    guard options.language != nil || !stopWords.isEmpty else { return (TextAnalyzer.cut(folded), .word) }
    let (stem, kind) = folded.withUnsafeBufferPointer { known($0) }
    return (Array(stems[stem]), kind)
  }

  /// Returns the term of a word after its first folding.
  private func term(ofFolded word: UnsafeBufferPointer<UInt8>) -> (term: [UInt8], kind: TextToken.Kind) {
    func scalars() -> [UInt32] { String(decoding: word, as: UTF8.self).unicodeScalars.map(\.value) }
    let isFolded = firstFolding == options.folding
    let bytes = isFolded ? Array(word) : TextAnalyzer.bytes(options.folding.folded(scalars()))
    if stopWords.contains(bytes) { return (TextAnalyzer.cut(bytes), .stopWord) }
    guard let language = options.language else { return (TextAnalyzer.cut(bytes), .word) }
    let stem = language.stem(of: scalars())
    return (TextAnalyzer.cut(TextAnalyzer.bytes(isFolded ? stem : options.folding.folded(stem))), .word)
  }

  /// Returns the beginning of the terms that match a prefix: folded, but not reduced to a stem.
  package func prefix(of word: String) -> [UInt8] {
    let scalars = word.unicodeScalars.map(\.value)
    return TextAnalyzer.cut(TextAnalyzer.bytes(plain(scalars[...], options.folding)))
  }

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
