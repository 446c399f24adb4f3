/// The English stemmer that Snowball describes, also known as Porter2.
///
/// It is the successor of ``PorterStemmer`` by the same author, with better rules for short words
/// and with exceptions.
enum EnglishStemmer {
  static func stem(_ scalars: [UInt32]) -> [UInt32] {
    guard scalars.count > 2 else { return scalars }
    if scalars.count <= 6, let stem = exceptions[scalars] { return stem }
    let isQuoted = scalars.first == apostrophe
    var word = StemWord(english: isQuoted ? Array(scalars.dropFirst()) : scalars, prefixes: prefixes)
    removePossessive(&word)
    removePlural(&word)
    removeInflection(&word)
    let last = word.count - 1
    if last > 1, word.endsInY, !word.isVowel(last - 1) {
      word.replaceLast(1, with: "i")
    }
    word.replaceInR1(step2)
    word.replaceInR1(step3)
    word.removeInR2(step4)
    removeLastLetter(&word)
    return word.unmarked
  }

  private static let apostrophe: UInt32 = 0x27

  /// Step 0.
  private static func removePossessive(_ word: inout StemWord) {
    if word.ends(in: "'s'") {
      word.removeLast(3)
    } else if word.ends(in: "'s") {
      word.removeLast(2)
    } else if word.ends(in: "'") {
      word.removeLast(1)
    }
  }

  /// Step 1a.
  private static func removePlural(_ word: inout StemWord) {
    if word.ends(in: "sses") {
      word.removeLast(2)
    } else if word.ends(in: "ied") || word.ends(in: "ies") {
      // "ties" becomes "tie", but "cries" becomes "cri".
      word.removeLast(word.count > 4 ? 2 : 1)
    } else if word.ends(in: "s"), !word.ends(in: "us"), !word.ends(in: "ss") {
      // "gas" and "this" stay, but "gaps" and "kiwis" lose the letter.
      if word.hasVowel(before: word.count - 2) { word.removeLast(1) }
    }
  }

  /// Step 1b.
  private static func removeInflection(_ word: inout StemWord) {
    if word.ends(in: "eed") || word.ends(in: "eedly") {
      let length = word.ends(in: "eed") ? 3 : 5
      if word.hasInR1(length), !isWhole(word, before: word.count - length, oneOf: withEed) {
        word.replaceLast(length, with: "ee")
      }
      return
    }
    guard let suffix = inflections.first(where: { word.ends(in: $0) }) else { return }
    let end = word.count - suffix.utf8CodeUnitCount
    if word.ends(in: "ing") {
      // "dying" becomes "die".
      if end == 2, word.ends(in: "y", before: end), !word.isVowel(0) {
        return word.replaceLast(4, with: "ie")
      }
      if isWhole(word, before: end, oneOf: withIng) { return }
    }
    guard word.hasVowel(before: end) else { return }
    word.removeLast(suffix.utf8CodeUnitCount)
    restoreEnd(&word)
  }

  /// Whether the first letters are one of some words.
  private static func isWhole(_ word: StemWord, before end: Int, oneOf words: [StaticString]) -> Bool {
    words.contains { $0.utf8CodeUnitCount == end && word.ends(in: $0, before: end) }
  }

  /// Restores the end of a verb after its "ing" or "ed" is removed.
  private static func restoreEnd(_ word: inout StemWord) {
    if word.ends(in: "at") || word.ends(in: "bl") || word.ends(in: "iz") {
      word.append("e")
    } else if word.endsInDouble, word.hasOne(of: "bdfgmnprt", at: word.count - 1) {
      // "add", "egg" and "off" are whole.
      if word.count > 3 || !word.hasOne(of: "aeo", at: 0) { word.removeLast(1) }
    } else if word.isR1Empty, endsShort(word, before: word.count) {
      word.append("e")
    }
  }

  /// Step 5.
  private static func removeLastLetter(_ word: inout StemWord) {
    if word.ends(in: "e") {
      let isLong = word.hasInR1(1) && !endsShort(word, before: word.count - 1)
      if word.hasInR2(1) || isLong { word.removeLast(1) }
    } else if word.ends(in: "ll"), word.hasInR2(1) {
      word.removeLast(1)
    }
  }

  /// Whether the first letters end in a short syllable, which may also be a vowel and a consonant
  /// at the beginning of the word, or "past".
  private static func endsShort(_ word: StemWord, before end: Int) -> Bool {
    if end == 2 { return word.isVowel(0) && !word.isVowel(1) }
    return word.endsInShortSyllable(before: end) || word.ends(in: "past", before: end)
  }

  // MARK: Suffixes

  private static let inflections: [StaticString] = ["ingly", "edly", "ing", "ed"]

  private static let step2 = SuffixTable([
    SuffixRule("ational", "ate"), SuffixRule("tional", "tion"), SuffixRule("enci", "ence"),
    SuffixRule("anci", "ance"), SuffixRule("abli", "able"), SuffixRule("entli", "ent"),
    SuffixRule("izer", "ize"), SuffixRule("ization", "ize"), SuffixRule("ation", "ate"),
    SuffixRule("ator", "ate"), SuffixRule("alism", "al"), SuffixRule("aliti", "al"),
    SuffixRule("alli", "al"), SuffixRule("fulness", "ful"), SuffixRule("ousli", "ous"),
    SuffixRule("ousness", "ous"), SuffixRule("iveness", "ive"), SuffixRule("iviti", "ive"),
    SuffixRule("biliti", "ble"), SuffixRule("bli", "ble"), SuffixRule("ogist", "og"),
    SuffixRule("ogi", "og", .after("l")), SuffixRule("fulli", "ful"), SuffixRule("lessli", "less"),
    SuffixRule("li", "", .after("cdeghkmnrt")),
  ])

  private static let step3 = SuffixTable([
    SuffixRule("ational", "ate"), SuffixRule("tional", "tion"), SuffixRule("alize", "al"),
    SuffixRule("icate", "ic"), SuffixRule("iciti", "ic"), SuffixRule("ical", "ic"),
    SuffixRule("ful"), SuffixRule("ness"), SuffixRule("ative", "", .inR2),
  ])

  private static let step4 = SuffixTable([
    SuffixRule("al"), SuffixRule("ance"), SuffixRule("ence"), SuffixRule("er"), SuffixRule("ic"),
    SuffixRule("able"), SuffixRule("ible"), SuffixRule("ant"), SuffixRule("ement"),
    SuffixRule("ment"), SuffixRule("ent"), SuffixRule("ism"), SuffixRule("ate"), SuffixRule("iti"),
    SuffixRule("ous"), SuffixRule("ive"), SuffixRule("ize"), SuffixRule("ion", "", .after("st")),
  ])

  // MARK: Exceptions

  /// Beginnings that R1 follows directly, so that "universe" and "university" have different stems.
  private static let prefixes: [StaticString] = [
    "gener", "commun", "arsen", "past", "univers", "later", "emerg", "organ", "inter",
  ]
  /// Words whose stem includes a final "eed", such as "proceed"; listed without it.
  private static let withEed: [StaticString] = ["proc", "exc", "succ"]
  /// Words whose stem includes a final "ing", such as "evening"; listed without it.
  private static let withIng: [StaticString] = ["inn", "out", "cann", "herr", "earr", "even"]

  private static let exceptions: [[UInt32]: [UInt32]] = {
    let stems = [
      "skis": "ski", "skies": "sky", "idly": "idl", "gently": "gentl", "ugly": "ugli",
      "early": "earli", "only": "onli", "singly": "singl", "sky": "sky", "news": "news",
      "howe": "howe", "atlas": "atlas", "cosmos": "cosmos", "bias": "bias", "andes": "andes",
    ]
    return Dictionary(
      uniqueKeysWithValues: stems.map { (word, stem) in
        (word.unicodeScalars.map(\.value), stem.unicodeScalars.map(\.value))
      })
  }()
}
