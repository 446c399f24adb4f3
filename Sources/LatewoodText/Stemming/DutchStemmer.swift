/// The Dutch stemmer by Wessel Kraaij and Renée Pohlmann, which Snowball 3.1 describes.
///
/// "ij" counts as a vowel. Where the removal of a suffix closes a syllable, its vowel is doubled:
/// "manen" becomes "maan". Participles lose their "ge".
enum DutchStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    var word = measured(scalars)
    var isStemmed = false
    if removeInflection(&word) { isStemmed = true }
    if removeDiminutive(&word) { isStemmed = true }
    if removeNounSuffix(&word) { isStemmed = true }
    if removeAdjectiveSuffix(&word) { isStemmed = true }
    if hasPrefix(word) {
      word = measured(without(0, word.letters))
      removeParticipleSuffix(&word)
      isStemmed = true
    }
    if let infix = infix(of: word) {
      word = measured(without(infix, word.letters))
      removeParticipleSuffix(&word)
      isStemmed = true
    }
    if word.suffix(of: step7) != nil {
      word.removeLast(1)
      isStemmed = true
    }
    if isStemmed { simplifyEnd(&word) }
    return word.unmarked
  }

  // MARK: Vowels and regions

  /// Returns a word with regions in which "ij" counts as a vowel.
  private static func measured(_ letters: [UInt32]) -> StemWord {
    let r1 = endOfSyllable(in: letters, from: 0)
    let r2 = endOfSyllable(in: letters, from: r1)
    return StemWord(letters, vowels: vowels, r1: r1, r2: r2)
  }

  /// Returns the index after the first consonant that follows a vowel, or the end.
  private static func endOfSyllable(in letters: [UInt32], from start: Int) -> Int {
    guard let vowel = letters[start...].firstIndex(where: vowels.contains) else { return letters.count }
    return min(endOfVowels(in: letters, from: vowel) + 1, letters.count)
  }

  /// Returns the index after the vowels that begin at an index.
  private static func endOfVowels(in letters: [UInt32], from start: Int) -> Int {
    var index = start
    while index < letters.count, vowels.contains(letters[index]) {
      let isIJ = letters[index] == 0x69 && index + 1 < letters.count && letters[index + 1] == 0x6A
      index += isIJ ? 2 : 1
    }
    return index
  }

  /// Whether the letters before the last ones end in a vowel.
  private static func hasVowel(_ word: StemWord, beforeLast length: Int) -> Bool {
    word.hasOne(of: vowels, beforeLast: length) || word.ends(in: "ij", beforeLast: length)
  }

  /// Whether the letters before the last ones end in a consonant.
  private static func hasConsonant(_ word: StemWord, beforeLast length: Int) -> Bool {
    word.hasConsonant(beforeLast: length) && !word.ends(in: "ij", beforeLast: length)
  }

  /// Doubles the vowel of a last syllable that has become closed.
  private static func lengthenVowel(_ word: inout StemWord) {
    guard word.count >= 2, !word.hasOne(of: allVowels + "ywx", beforeLast: 0) else { return }
    let vowel = word.count - 2
    if word.hasOne(of: "ë", at: vowel) {
      if word.hasOne(of: "e", at: vowel - 1) {
        word.insert("e", at: vowel + 1)
      } else if word.hasOne(of: "i", at: vowel - 1) {
        word.replace(at: vowel, with: "e")
        word.insert("e", at: vowel)
      }
    } else if !word.hasOne(of: allVowels, at: vowel - 1) {
      let isE = word.hasOne(of: "eéèê", at: vowel) && !isUnstressed(word, vowel)
      if isE || word.hasOne(of: "aäáàâoöóòôuüúùû", at: vowel) { word.doubleLetter(at: vowel) }
    }
  }

  /// Whether an "e" is in the second or third syllable, as in "regel", and not likely to be
  /// stressed.
  private static func isUnstressed(_ word: StemWord, _ index: Int) -> Bool {
    let before = index - 2
    if before < 0 { return false }
    if word.hasOne(of: otherVowels, at: before) { return true }
    if before == 0 { return word.hasOne(of: lettersE, at: 0) }
    return before > 1 && word.hasOne(of: otherVowels, at: before - 1)
      && !word.hasOne(of: allVowels, at: before - 2)
  }

  // MARK: Suffixes

  /// Step 1: the plural and the infinitive.
  ///
  /// - Returns: whether the word has changed.
  private static func removeInflection(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step1) else { return false }
    switch action {
    case .possessive: word.removeLast(length)
    case .s:
      guard word.hasInR1(1), !(word.ends(in: "ts") && word.hasInR1(2)), hasConsonant(word, beforeLast: 1)
      else { return false }
      word.removeLast(1)
    case .ies:
      guard word.hasInR1(length) else { return false }
      word.removeLast(1)
    case .es: return removeEs(&word)
    case .aus:
      guard word.hasInR1(length), hasVowel(word, beforeLast: length) else { return false }
      word.removeLast(1)
    case .en: return removeEn(&word)
    case .nde: word.removeLast(1)
    }
    return true
  }

  private static func removeEs(_ word: inout StemWord) -> Bool {
    let isLong = word.hasInR1(4) && hasConsonant(word, beforeLast: 4)
    if isLong, word.ends(in: "ares") {
      word.removeLast(2)
      lengthenVowel(&word)
    } else if isLong, word.ends(in: "eres") {
      word.removeLast(2)
    } else {
      guard word.hasInR1(2), hasConsonant(word, beforeLast: 2) else { return false }
      word.removeLast(1)
    }
    return true
  }

  private static func removeEn(_ word: inout StemWord) -> Bool {
    if word.ends(in: "heden"), word.hasInR1(5) {
      word.replaceLast(4, with: "eid")
    } else if word.ends(in: "nden") {
      word.removeLast(2)
    } else if word.ends(in: "den"), word.hasInR1(3), hasConsonant(word, beforeLast: 3) {
      word.removeLast(3)
    } else if word.hasOne(of: "ij", beforeLast: 2), hasVowel(word, beforeLast: 3) {
      word.removeLast(2)
    } else {
      guard word.hasInR1(2), hasConsonant(word, beforeLast: 2) else { return false }
      word.removeLast(2)
      lengthenVowel(&word)
    }
    return true
  }

  /// Step 2: the diminutive, and a final "e".
  ///
  /// - Returns: whether the word has changed.
  private static func removeDiminutive(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step2) else { return false }
    if action == .je { return removeJe(&word) }
    guard word.hasInR1(length) else { return false }
    switch action {
    case .je, .e: word.removeLast(1)
    case .de:
      guard hasConsonant(word, beforeLast: length) else { return false }
      word.removeLast(2)
    case .le:
      word.removeLast(1)
      lengthenVowel(&word)
    case .ene:
      guard hasConsonant(word, beforeLast: length) else { return false }
      word.removeLast(1)
      lengthenVowel(&word)
    case .ieve:
      guard hasConsonant(word, beforeLast: length) else { return false }
      word.replaceLast(2, with: "f")
    }
    return true
  }

  private static func removeJe(_ word: inout StemWord) -> Bool {
    if word.ends(in: "'tje") || word.ends(in: "etje") && word.hasInR1(4) && hasConsonant(word, beforeLast: 4)
    {
      word.removeLast(4)
    } else if word.ends(in: "rntje") || word.ends(in: "mpje") {
      word.removeLast(3)
    } else if word.ends(in: "tje"), word.hasInR1(3), hasVowel(word, beforeLast: 4) {
      word.removeLast(3)
    } else if word.ends(in: "inkje") {
      word.replaceLast(3, with: "g")
    } else if word.ends(in: "'je"), word.hasInR1(3) {
      word.removeLast(3)
    } else {
      guard word.hasInR1(2), hasConsonant(word, beforeLast: 2) else { return false }
      word.removeLast(2)
    }
    return true
  }

  /// Step 3: suffixes of nouns.
  ///
  /// - Returns: whether the word has changed.
  private static func removeNounSuffix(_ word: inout StemWord) -> Bool {
    guard let (length, action) = word.suffix(of: step3) else { return false }
    // "schilderij" is not a "schild".
    if action == .ing, word.ends(in: "ild", beforeLast: length) {
      word.replaceLast(length, with: "er")
      return true
    }
    switch action {
    case .rder: word.removeLast(3)
    case .fie:
      guard word.hasInR2(length) else { return false }
      word.removeLast(2)
      lengthenVowel(&word)
    case .atie, .iteit, .heid, .ing, .arij, .tst:
      guard word.hasInR1(length) else { return false }
      return removeNounSuffixInR1(&word, length, action)
    }
    return true
  }

  private static func removeNounSuffixInR1(_ word: inout StemWord, _ length: Int, _ action: Step3) -> Bool {
    switch action {
    case .atie: word.replaceLast(length, with: "eer")
    case .iteit, .ing:
      word.removeLast(length)
      lengthenVowel(&word)
    case .arij:
      guard hasConsonant(word, beforeLast: length) else { return false }
      word.replaceLast(length, with: "aar")
    case .tst:
      guard hasConsonant(word, beforeLast: length) else { return false }
      word.removeLast(2)
    case .heid, .rder, .fie: word.removeLast(length)
    }
    return true
  }

  /// Step 4: suffixes of adjectives.
  ///
  /// - Returns: whether the word has changed.
  private static func removeAdjectiveSuffix(_ word: inout StemWord) -> Bool {
    if let (length, action) = word.suffix(of: step4), word.hasInR1(length) {
      switch action {
      case .remove:
        word.removeLast(length)
        return true
      case .replace(let ending):
        word.replaceLast(length, with: ending)
        return true
      case .naar where hasVowel(word, beforeLast: length):
        word.removeLast(3)
        return true
      case .erig where hasConsonant(word, beforeLast: length):
        word.removeLast(length)
        lengthenVowel(&word)
        return true
      case .naar, .erig: break
      }
    }
    guard let length = word.suffix(of: step4ig)?.length, word.hasInR1(length),
      hasConsonant(word, beforeLast: length), !(word.count == length + 3 && word.begins(with: "inn"))
    else { return false }
    word.removeLast(length)
    lengthenVowel(&word)
    return true
  }

  /// Step 6: makes a double consonant single, and the last consonant voiceless.
  private static func simplifyEnd(_ word: inout StemWord) {
    if word.endsInDouble, word.hasOne(of: "bcdfghjklmnpqrstvwxz", beforeLast: 0) {
      // "innen" is not "in".
      if word.count == 3, word.begins(with: "inn") { return }
      word.removeLast(1)
    } else if word.ends(in: "v") {
      word.replaceLast(1, with: "f")
    } else if word.ends(in: "z") {
      word.replaceLast(1, with: "s")
    }
  }

  // MARK: Participles

  /// Whether the word begins with the "ge" of a participle.
  private static func hasPrefix(_ word: StemWord) -> Bool {
    guard word.begins(with: "ge"), hasStem(word.letters, from: 2) else { return false }
    // "gevallen" and "gevaren" keep it.
    return !wholeAfterGe.contains { word.ends(in: $0, before: 2 + $0.utf8CodeUnitCount) }
      || word.begins(with: "gevali")
  }

  /// Returns the index of a "ge" inside the word, as in "opgezet".
  private static func infix(of word: StemWord) -> Int? {
    guard word.count >= 6,
      let index = (1..<word.count - 1).first(where: { word.ends(in: "ge", before: $0 + 2) })
    else { return nil }
    return hasStem(word.letters, from: index + 2) ? index : nil
  }

  /// Whether the letters from an index on, at least three, have a vowel that is not the end.
  private static func hasStem(_ letters: [UInt32], from start: Int) -> Bool {
    guard letters.count >= start + 3, let vowel = letters[start...].firstIndex(where: vowels.contains)
    else { return false }
    return endOfVowels(in: letters, from: vowel) < letters.count
  }

  /// Returns the letters without the "ge" at an index, and without the diaeresis that it needs.
  private static func without(_ index: Int, _ letters: [UInt32]) -> [UInt32] {
    var result = letters
    result.removeSubrange(index..<index + 2)
    if result[index] == 0xEB { result[index] = 0x65 }
    if result[index] == 0xEF { result[index] = 0x69 }
    return result
  }

  /// Step 1c: removes the suffix of a participle that has lost its "ge".
  private static func removeParticipleSuffix(_ word: inout StemWord) {
    guard word.hasOne(of: "dt", beforeLast: 0), word.hasInR1(1), hasConsonant(word, beforeLast: 1) else {
      return
    }
    if word.ends(in: "d") {
      if word.ends(in: "nd"), word.hasInR1(2) { return }
      // "geïnd" is a form of "innen", not "in".
      if word.count == 3, word.begins(with: "ind") { return word.replaceLast(1, with: "n") }
    } else {
      if word.ends(in: "ht"), word.hasInR1(2) { return }
      // "geënt" is not "en".
      if word.count == 3, word.begins(with: "ent") { return }
    }
    word.removeLast(1)
  }

  // MARK: Letters and suffixes

  private static let lettersE: LetterSet = "eëéèê"
  private static let otherVowels: LetterSet = "aäáàâiïíìîoöóòôuüúùû"
  private static let allVowels = otherVowels + lettersE
  private static let vowels = allVowels + "y"

  private enum Step1 { case possessive, s, ies, es, aus, en, nde }
  private static let step1 = SuffixTable<Step1>([
    ("'s", .possessive), ("s", .s), ("ies és", .ies), ("es", .es), ("aus", .aus), ("en", .en), ("nde", .nde),
  ])

  private enum Step2 { case je, e, de, le, ene, ieve }
  private static let step2 = SuffixTable<Step2>([
    ("je", .je), ("ge lijke ische te se re", .e), ("de", .de), ("le", .le), ("ene", .ene), ("ieve", .ieve),
  ])

  private enum Step3 { case atie, iteit, heid, rder, ing, arij, fie, tst }
  private static let step3 = SuffixTable<Step3>([
    ("atie", .atie), ("iteit", .iteit), ("heid sel ster", .heid), ("rder", .rder),
    ("ing isme erij", .ing), ("arij", .arij), ("fie gie", .fie), ("tst dst", .tst),
  ])

  private enum Step4 {
    case remove, naar, erig
    case replace(StaticString)
  }
  private static let step4 = SuffixTable<Step4>([
    ("ioneel", .replace("ie")), ("atief", .replace("eer")), ("baar achtig achtiger achtigst", .remove),
    ("naar laar raar", .naar), ("tant", .replace("teer")), ("lijker lijkst", .replace("lijk")),
    ("eriger erigst erig end", .erig),
  ])
  private static let step4ig = SuffixTable("iger igst ig")

  private static let step7 = SuffixTable("kt ft pt")

  /// What follows a "ge" that is part of the stem.
  private static let wholeAfterGe: [StaticString] = ["eft", "val", "vaa", "vare"]
}
