/// A word while a stemmer shortens it, with the regions that decide which suffixes are removed.
///
/// R1 begins after the first consonant that follows a vowel, and R2 begins after the next such
/// consonant. In "beautiful", R1 is "iful" and R2 is "ul". Removing a suffix inside R1 leaves at
/// least one syllable; removing one inside R2 leaves at least two. RV is where the endings of verbs
/// may begin. Its definition depends on the language, and so do the vowels.
///
/// Stemmers mark letters that do not count as what they usually are, such as a "y" or "u" that is a
/// consonant. Snowball's descriptions write them as capitals, and so do rules here.
struct StemWord {
  /// Unicode scalars. A marked letter is the letter plus ``mark``.
  private(set) var letters: [UInt32]
  private let vowels: LetterSet
  /// The index at which R1 begins.
  private(set) var r1 = 0
  /// The index at which R2 begins.
  private var r2 = 0
  /// The index at which RV begins.
  private(set) var rv = 0

  /// The difference between a marked letter and the letter. No scalar is as large.
  static let mark: UInt32 = 0x110000

  /// Creates a word with its regions R1 and R2.
  ///
  /// - Parameters:
  ///   - letters: The letters, in lower case or marked.
  ///   - vowels: The vowels of the language.
  ///   - prefixes: Beginnings that R1 follows directly, as exceptions.
  init(_ letters: [UInt32], vowels: LetterSet, prefixes: [StaticString] = []) {
    self.letters = letters
    self.vowels = vowels
    let prefix = prefixes.first { begins(with: $0) }
    r1 = prefix?.utf8CodeUnitCount ?? endOfSyllable(from: 0)
    r2 = endOfSyllable(from: r1)
  }

  /// Creates a word with given regions.
  init(_ letters: [UInt32], vowels: LetterSet, r1: Int, r2: Int) {
    self.letters = letters
    self.vowels = vowels
    self.r1 = r1
    self.r2 = r2
  }

  /// The word without marks.
  var unmarked: [UInt32] { letters.map(StemWord.unmarked) }

  static func unmarked(_ letter: UInt32) -> UInt32 {
    letter >= StemWord.mark ? letter - StemWord.mark : letter
  }

  /// Marks each of some letters that is between two vowels. Marked letters are not vowels.
  static func markBetweenVowels(_ some: LetterSet, in letters: inout [UInt32], vowels: LetterSet) {
    for index in letters.indices.dropFirst().dropLast() where some.contains(letters[index]) {
      if vowels.contains(letters[index - 1]), vowels.contains(letters[index + 1]) { letters[index] += mark }
    }
  }

  /// Returns the letter that a character of a rule stands for: a marked one for a capital.
  static func letter(_ character: UInt32) -> UInt32 {
    character &- 0x41 < 26 ? StemWord.mark + character + 0x20 : character
  }

  var count: Int { letters.count }

  // MARK: Regions

  var isR1Empty: Bool { r1 >= count }

  /// Whether the last letters are inside R1.
  func hasInR1(_ length: Int) -> Bool { count - length >= r1 }

  /// Whether the last letters are inside R2.
  func hasInR2(_ length: Int) -> Bool { count - length >= r2 }

  /// Whether the last letters are inside RV.
  func hasInRV(_ length: Int) -> Bool { count - length >= rv }

  /// Moves the beginning of R1, so that at least some letters precede it.
  mutating func beginR1(after length: Int) { r1 = max(r1, min(length, count)) }

  mutating func beginRV(at index: Int) { rv = min(index, count) }

  /// Begins RV as Spanish, Portuguese and Italian do: after a consonant and a vowel, after the
  /// third letter; after two vowels, after the next consonant; otherwise after the next vowel.
  mutating func beginRomanceRV() {
    guard count >= 2 else {
      rv = count
      return
    }
    let first = isVowel(0)
    if isVowel(1) {
      rv = first ? index(after: { !isVowel($0) }, from: 2) : min(3, count)
    } else {
      rv = index(after: isVowel, from: 2)
    }
  }

  /// Returns the index after the first consonant that follows a vowel.
  func endOfSyllable(from start: Int) -> Int {
    var index = start
    while index < count, !isVowel(index) { index += 1 }
    while index < count, isVowel(index) { index += 1 }
    return min(index + 1, count)
  }

  /// Returns the index after the first letter that meets a condition, or the end.
  func index(after condition: (Int) -> Bool, from start: Int) -> Int {
    var index = start
    while index < count, !condition(index) { index += 1 }
    return min(index + 1, count)
  }

  // MARK: Letters

  @inline(__always)
  func isVowel(_ index: Int) -> Bool { vowels.contains(letters[index]) }

  /// Whether there is a vowel among the first letters.
  func hasVowel(before end: Int) -> Bool { (0..<max(end, 0)).contains(where: isVowel) }

  /// Whether the word ends in two equal letters.
  var endsInDouble: Bool { count >= 2 && letters[count - 1] == letters[count - 2] }

  /// Whether the letter at an index is one of some letters. False outside of the word.
  func hasOne(of some: LetterSet, at index: Int) -> Bool {
    letters.indices.contains(index) && some.contains(letters[index])
  }

  /// Whether the letter before the last ones is one of some letters.
  func hasOne(of some: LetterSet, beforeLast length: Int) -> Bool {
    hasOne(of: some, at: count - length - 1)
  }

  /// Whether the letter before the last ones is a consonant. False if there is no such letter.
  func hasConsonant(beforeLast length: Int) -> Bool {
    count > length && !isVowel(count - length - 1)
  }

  // MARK: Suffixes

  func begins(with prefix: StaticString) -> Bool { ends(in: prefix, before: prefix.utf8CodeUnitCount) }

  /// Whether the word ends in a suffix in ASCII.
  func ends(in suffix: StaticString) -> Bool { ends(in: suffix, before: count) }

  /// Whether the letters before the last ones end in a suffix in ASCII.
  func ends(in suffix: StaticString, beforeLast length: Int) -> Bool {
    ends(in: suffix, before: count - length)
  }

  /// Whether the first letters end in a suffix in ASCII.
  func ends(in suffix: StaticString, before end: Int) -> Bool {
    let start = end - suffix.utf8CodeUnitCount
    guard start >= 0, end <= count else { return false }
    return suffix.withUTF8Buffer { (bytes) in
      for (index, byte) in bytes.enumerated() where letters[start + index] != StemWord.letter(UInt32(byte)) {
        return false
      }
      return true
    }
  }

  /// Returns the longest suffix of a table, within the letters from an index on and before the last
  /// ones.
  func suffix<Action>(
    of table: SuffixTable<Action>, from start: Int = 0, beforeLast length: Int = 0
  ) -> (length: Int, action: Action)? {
    let end = count - length
    return start < end ? table.longest(in: letters, start..<end) : nil
  }

  mutating func removeLast(_ length: Int) { letters.removeLast(length) }

  mutating func replaceLast(_ length: Int, with ending: StaticString) {
    letters.removeLast(length)
    append(ending)
  }

  /// Replaces one letter by another.
  mutating func replace(at index: Int, with letter: Unicode.Scalar) { letters[index] = letter.value }

  mutating func insert(_ letter: Unicode.Scalar, at index: Int) { letters.insert(letter.value, at: index) }

  mutating func doubleLetter(at index: Int) { letters.insert(letters[index], at: index) }

  mutating func append(_ ending: StaticString) {
    ending.withUTF8Buffer { letters.append(contentsOf: $0.lazy.map { StemWord.letter(UInt32($0)) }) }
  }

  /// Removes a suffix if the word ends in it inside R2.
  ///
  /// - Returns: whether it did.
  @discardableResult
  mutating func removeInR2(_ suffix: StaticString) -> Bool {
    guard ends(in: suffix), hasInR2(suffix.utf8CodeUnitCount) else { return false }
    removeLast(suffix.utf8CodeUnitCount)
    return true
  }

  /// Removes the last letters if they are inside R2.
  ///
  /// - Returns: whether it did.
  mutating func removeInR2(_ length: Int) -> Bool {
    guard hasInR2(length) else { return false }
    removeLast(length)
    return true
  }

  /// Removes the last letters if they are inside RV.
  ///
  /// - Returns: whether it did.
  @discardableResult
  mutating func removeInRV(_ length: Int) -> Bool {
    guard hasInRV(length) else { return false }
    removeLast(length)
    return true
  }

  /// Replaces the last letters if they are inside R2.
  ///
  /// - Returns: whether it did.
  mutating func replaceInR2(_ length: Int, with ending: StaticString) -> Bool {
    guard hasInR2(length) else { return false }
    replaceLast(length, with: ending)
    return true
  }
}

// MARK: - English

/// What both algorithms for English share.
extension StemWord {
  /// Creates a word of English with its consonants "y" marked: those at the beginning, and after a
  /// vowel.
  ///
  /// - Parameters:
  ///   - word: The letters, in lower case.
  ///   - prefixes: Beginnings that R1 follows directly, as exceptions.
  init(english word: [UInt32], prefixes: [StaticString] = []) {
    var letters = word
    var isAfterVowel = true
    for index in letters.indices {
      if letters[index] == 0x79, isAfterVowel { letters[index] += StemWord.mark }
      isAfterVowel = StemWord.englishVowels.contains(letters[index])
    }
    self.init(letters, vowels: StemWord.englishVowels, prefixes: prefixes)
  }

  private static let englishVowels: LetterSet = "aeiouy"

  /// Whether the first letters end in consonant, vowel, consonant, and the last is not "w" or "x".
  /// A last "y" does not count either, because it is a vowel or marked.
  func endsInShortSyllable(before end: Int) -> Bool {
    guard end >= 3, !isVowel(end - 3), isVowel(end - 2), !isVowel(end - 1) else { return false }
    return !hasOne(of: "wxY", at: end - 1)
  }

  /// Whether the last letter is "y", as a vowel or as a consonant.
  var endsInY: Bool { hasOne(of: "yY", beforeLast: 0) }

  private func meets(_ rule: SuffixRule, _ length: Int) -> Bool {
    switch rule.condition {
    case .none: return true
    case .inR2: return hasInR2(length)
    case .after(let preceding): return hasOne(of: preceding, beforeLast: length)
    }
  }

  /// Replaces the suffix that a list of rules has for the word, if it is inside R1.
  mutating func replaceInR1(_ rules: SuffixTable<SuffixRule>) {
    guard let (length, rule) = suffix(of: rules), meets(rule, length) else { return }
    if hasInR1(length) { replaceLast(length, with: rule.replacement) }
  }

  /// Removes the suffix that a list of rules has for the word, if it is inside R2.
  mutating func removeInR2(_ rules: SuffixTable<SuffixRule>) {
    guard let (length, rule) = suffix(of: rules), meets(rule, length) else { return }
    if hasInR2(length) { removeLast(length) }
  }
}

/// A suffix of English and its replacement.
struct SuffixRule: Sendable {
  let suffix: String
  let replacement: StaticString
  var condition = Condition.none

  /// A condition in addition to the region of the step.
  enum Condition: Sendable {
    case none
    /// The letter before the suffix is one of these.
    case after(LetterSet)
    /// The suffix is inside R2.
    case inR2
  }

  init(_ suffix: String, _ replacement: StaticString = "", _ condition: Condition = .none) {
    self.suffix = suffix
    self.replacement = replacement
    self.condition = condition
  }
}

extension SuffixTable<SuffixRule> {
  init(_ rules: [SuffixRule]) { self.init(rules.map { ($0.suffix, $0) }) }
}
