/// Martin Porter's algorithm for English, "An algorithm for suffix stripping" of 1980.
///
/// As in FTS5 and in the author's own programs, words of two letters stay, and two suffixes differ
/// from the article: "bli" becomes "ble", and "logi" becomes "log".
///
/// The article counts the sequences of vowels and consonants of a stem, its measure m. Here, m > 0
/// and m > 1 mean that the suffix is inside R1 or R2 of ``StemWord``.
enum PorterStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    guard scalars.count > 2 else { return scalars }
    var word = StemWord(english: scalars)
    removePlural(&word)
    removeInflection(&word)
    if word.endsInY, word.hasVowel(before: word.count - 1) {
      word.replaceLast(1, with: "i")
    }
    word.replaceInR1(step2)
    word.replaceInR1(step3)
    word.removeInR2(step4)
    removeLastLetter(&word)
    return word.unmarked
  }

  /// Step 1a.
  private static func removePlural(_ word: inout StemWord) {
    if word.ends(in: "sses") || word.ends(in: "ies") {
      word.removeLast(2)
    } else if word.ends(in: "s"), !word.ends(in: "ss") {
      word.removeLast(1)
    }
  }

  /// Step 1b.
  private static func removeInflection(_ word: inout StemWord) {
    if word.ends(in: "eed") {
      if word.hasInR1(3) { word.removeLast(1) }
      return
    }
    let length = word.ends(in: "ed") ? 2 : word.ends(in: "ing") ? 3 : 0
    guard length > 0, word.hasVowel(before: word.count - length) else { return }
    word.removeLast(length)
    if word.ends(in: "at") || word.ends(in: "bl") || word.ends(in: "iz") {
      word.append("e")
    } else if word.endsInDouble, !word.isVowel(word.count - 1) {
      if !word.ends(in: "l"), !word.ends(in: "s"), !word.ends(in: "z") { word.removeLast(1) }
    } else if word.isR1Empty, word.endsInShortSyllable(before: word.count) {
      word.append("e")
    }
  }

  /// Step 5.
  private static func removeLastLetter(_ word: inout StemWord) {
    if word.ends(in: "e") {
      let isLong = word.hasInR1(1) && !word.endsInShortSyllable(before: word.count - 1)
      if word.hasInR2(1) || isLong { word.removeLast(1) }
    }
    if word.ends(in: "ll"), word.hasInR2(1) { word.removeLast(1) }
  }

  private static let step2 = SuffixTable([
    SuffixRule("ational", "ate"), SuffixRule("tional", "tion"), SuffixRule("enci", "ence"),
    SuffixRule("anci", "ance"), SuffixRule("izer", "ize"), SuffixRule("bli", "ble"),
    SuffixRule("alli", "al"), SuffixRule("entli", "ent"), SuffixRule("eli", "e"),
    SuffixRule("ousli", "ous"), SuffixRule("ization", "ize"), SuffixRule("ation", "ate"),
    SuffixRule("ator", "ate"), SuffixRule("alism", "al"), SuffixRule("iveness", "ive"),
    SuffixRule("fulness", "ful"), SuffixRule("ousness", "ous"), SuffixRule("aliti", "al"),
    SuffixRule("iviti", "ive"), SuffixRule("biliti", "ble"), SuffixRule("logi", "log"),
  ])

  private static let step3 = SuffixTable([
    SuffixRule("icate", "ic"), SuffixRule("ative"), SuffixRule("alize", "al"),
    SuffixRule("iciti", "ic"), SuffixRule("ical", "ic"), SuffixRule("ful"), SuffixRule("ness"),
  ])

  private static let step4 = SuffixTable([
    SuffixRule("al"), SuffixRule("ance"), SuffixRule("ence"), SuffixRule("er"), SuffixRule("ic"),
    SuffixRule("able"), SuffixRule("ible"), SuffixRule("ant"), SuffixRule("ement"),
    SuffixRule("ment"), SuffixRule("ent"), SuffixRule("ion", "", .after("st")), SuffixRule("ou"),
    SuffixRule("ism"), SuffixRule("ate"), SuffixRule("iti"), SuffixRule("ous"), SuffixRule("ive"),
    SuffixRule("ize"),
  ])
}
