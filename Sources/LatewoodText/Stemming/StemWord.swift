/// A word of English while a stemmer shortens it, with the two regions that decide in both
/// algorithms of Martin Porter.
///
/// R1 begins after the first consonant that follows a vowel, and R2 begins after the next such
/// consonant. In "beautiful", R1 is "iful" and R2 is "ul". Removing a suffix inside R1 leaves at
/// least one syllable; removing one inside R2 leaves at least two.
struct StemWord {
  /// Unicode scalars, and ``consonantY`` for a "y" that is a consonant.
  private var letters: [UInt32]
  /// The index at which R1 begins.
  private var r1 = 0
  /// The index at which R2 begins.
  private var r2 = 0

  /// A number that no scalar has.
  private static let consonantY: UInt32 = 0x110000

  /// Creates a word with its consonants "y" marked: those at the beginning, and after a vowel.
  ///
  /// - Parameters:
  ///   - word: The letters, in lower case.
  ///   - prefixes: Beginnings that R1 follows directly, as exceptions.
  init(_ word: [UInt32], prefixes: [StaticString] = []) {
    letters = word
    var isAfterVowel = true
    for index in letters.indices {
      if letters[index] == 0x79, isAfterVowel { letters[index] = StemWord.consonantY }
      isAfterVowel = isVowel(index)
    }
    let prefix = prefixes.first { ends(in: $0, before: $0.utf8CodeUnitCount) }
    r1 = prefix?.utf8CodeUnitCount ?? endOfSyllable(from: 0)
    r2 = endOfSyllable(from: r1)
  }

  /// The word without the marks of each "y".
  var unmarked: [UInt32] { letters.map { $0 == StemWord.consonantY ? 0x79 : $0 } }

  var count: Int { letters.count }

  var isFirstRegionEmpty: Bool { r1 >= count }

  // MARK: Letters

  func isVowel(_ index: Int) -> Bool {
    switch letters[index] {
    // a, e, i, o, u, y
    case 0x61, 0x65, 0x69, 0x6F, 0x75, 0x79: true
    default: false
    }
  }

  /// Whether there is a vowel among the first letters.
  func hasVowel(before end: Int) -> Bool { (0..<max(end, 0)).contains(where: isVowel) }

  /// Whether the word ends in two equal letters.
  var endsInDouble: Bool { count >= 2 && letters[count - 1] == letters[count - 2] }

  /// Whether the first letters end in consonant, vowel, consonant, and the last is not "w" or "x".
  /// A last "y" does not count either, because it is a vowel or marked.
  func endsInShortSyllable(before end: Int) -> Bool {
    guard end >= 3, !isVowel(end - 3), isVowel(end - 2), !isVowel(end - 1) else { return false }
    return letters[end - 1] != 0x77 && letters[end - 1] != 0x78 && letters[end - 1] != StemWord.consonantY
  }

  /// Returns the index after the first consonant that follows a vowel.
  private func endOfSyllable(from start: Int) -> Int {
    var index = start
    while index < count, !isVowel(index) { index += 1 }
    while index < count, isVowel(index) { index += 1 }
    return min(index + 1, count)
  }

  // MARK: Suffixes

  func ends(in suffix: StaticString) -> Bool { ends(in: suffix, before: count) }

  /// Whether the first letters end in a suffix.
  func ends(in suffix: StaticString, before end: Int) -> Bool {
    let start = end - suffix.utf8CodeUnitCount
    guard start >= 0, end <= count else { return false }
    return suffix.withUTF8Buffer { (bytes) in
      for (index, byte) in bytes.enumerated() where letters[start + index] != UInt32(byte) { return false }
      return true
    }
  }

  /// Whether the last letter is "y", as a vowel or as a consonant.
  var endsInY: Bool { letters.last == 0x79 || letters.last == StemWord.consonantY }

  /// Whether the last letters are inside R1.
  func hasInFirstRegion(_ length: Int) -> Bool { count - length >= r1 }

  /// Whether the last letters are inside R2.
  func hasInSecondRegion(_ length: Int) -> Bool { count - length >= r2 }

  mutating func removeLast(_ length: Int) { letters.removeLast(length) }

  mutating func replaceLast(_ length: Int, with ending: StaticString) {
    letters.removeLast(length)
    append(ending)
  }

  mutating func append(_ ending: StaticString) {
    ending.withUTF8Buffer { letters.append(contentsOf: $0.lazy.map(UInt32.init)) }
  }

  /// Returns the rule of the first suffix that the word ends in. A list has a longer suffix before
  /// the suffixes that it ends in.
  private func rule(of rules: [SuffixRule]) -> SuffixRule? { rules.first { ends(in: $0.suffix) } }

  private func meets(_ rule: SuffixRule) -> Bool {
    switch rule.condition {
    case .none: return true
    case .inSecondRegion: return hasInSecondRegion(rule.suffix.utf8CodeUnitCount)
    case .after(let preceding): return hasOne(of: preceding, at: count - rule.suffix.utf8CodeUnitCount - 1)
    }
  }

  /// Whether the letter at an index is one of some letters.
  func hasOne(of some: StaticString, at index: Int) -> Bool {
    guard letters.indices.contains(index) else { return false }
    return some.withUTF8Buffer { $0.contains { UInt32($0) == letters[index] } }
  }

  /// Replaces the suffix that a list of rules has for the word, if it is inside R1.
  mutating func replaceInFirstRegion(_ rules: [SuffixRule]) {
    guard let rule = rule(of: rules), meets(rule) else { return }
    let length = rule.suffix.utf8CodeUnitCount
    if hasInFirstRegion(length) { replaceLast(length, with: rule.replacement) }
  }

  /// Removes the suffix that a list of rules has for the word, if it is inside R2.
  mutating func removeInSecondRegion(_ rules: [SuffixRule]) {
    guard let rule = rule(of: rules), meets(rule) else { return }
    let length = rule.suffix.utf8CodeUnitCount
    if hasInSecondRegion(length) { removeLast(length) }
  }
}

/// A suffix and its replacement.
struct SuffixRule: Sendable {
  let suffix: StaticString
  let replacement: StaticString
  var condition = Condition.none

  /// A condition in addition to the region of the step.
  enum Condition: Sendable {
    case none
    /// The letter before the suffix is one of these.
    case after(StaticString)
    /// The suffix is inside R2.
    case inSecondRegion
  }

  init(_ suffix: StaticString, _ replacement: StaticString = "", _ condition: Condition = .none) {
    self.suffix = suffix
    self.replacement = replacement
    self.condition = condition
  }
}
